"""Entry point and argument parsers of the command `vlgauge`."""

import argparse
import os
import shlex
import shutil
import signal
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import vlgauge
from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.cli.terminal import within_terminal
from vlgauge.core.errors import UsageError, describe, in_python, is_of_user, naming_arguments
from vlgauge.core.files import Limits, limits
from vlgauge.core.progress import lines_in_logs, progress_chosen
from vlgauge.core.results import SIDECAR, printable
from vlgauge.core.validation import setting_names
from vlgauge.core.writing import check_distinct_targets
from vlgauge.inputs.sandbox import use_sandbox

# Module of each command, with the function that adds its options if it is not `add_options`, and its purpose.
COMMANDS = {
    "list": ("listing", "list the metrics"),
    "backbones": ("backbones", "list the image and text encoders that metrics can use"),
    "calibrate": ("calibrate", "fit a scale to the cosines of a backbone, for clip_s"),
    "score": ("score", "score a file of rows"),
    "compare": ("compare", "compare systems on the same rows"),
    "record": ("record", "check a file of records that `score --record` wrote"),
    "export": ("export", "export records for cards and leaderboards of the Hub"),
    "sensitivity": ("sensitivity", "show how p-values depend on the number of candidates"),
    "study": ("study", "run studies of caption sets: temperature, repeated and wrong captions, human splits"),
    "style-fit": ("style:add_fit_options", "fit a style table for onlystyle and stylecider"),
    "style-report": (
        "style:add_report_options",
        "test how often the style metrics recognize the style of a caption",
    ),
    "grounding": ("grounding", "run experiments of GROOViST on stories with images"),
    "agreement": ("agreement", "correlate scores with human ratings or rankings"),
    "d-hm": ("distance", "compute the distance of generated stories from human-written ones"),
    "protocol": ("protocol", "evaluate metrics on a published dataset"),
    "verify": ("verify", "recompute published numbers, and list every table and figure"),
    "prefetch": ("prefetch", "fetch the weights that metrics and encoders need, and check them"),
    "convert": (
        "convert",
        "compare a checkpoint of PAC-S or Polos with its base, and keep the difference in a small file",
    ),
    "idf": ("idf", "count words of stories for rovist_vg and groovist, or n-grams of references for cider and trm"),
    "workbench": ("workbench", "try metrics in a browser on this machine"),
    "train": ("train", "train weights by the recipe of a paper: pac_s, polos, rovist_c, rovist_vg"),
    "cache": ("cache", "list or clear the feature cache"),
    "info": ("info", "print versions, devices and caches"),
}

# Headings of the first screen, with their commands.
GROUPS = {
    "Score": ("score", "compare", "list", "workbench"),
    "Results": ("record", "export", "agreement"),
    "Experiments of the papers": ("protocol", "verify", "sensitivity", "study", "d-hm", "grounding", "style-report"),
    "Models and tables": ("backbones", "calibrate", "prefetch", "convert", "train", "style-fit", "idf"),
    "This machine": ("cache", "info"),
}

# Options that name an output file in any command.
_WRITTEN = ("theta", "record", "report", "plot", "write_rows", "output")

# Cells and names can have any length. The longest message of vlgauge itself lists the six missing sources of rovist.
_LONGEST_LINE = 4000
_LEAST_HELP, _MOST_HELP = 40, 100  # characters per line of the first screen


class OneLineParser(argparse.ArgumentParser):
    """Parser with error messages in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the message in one line and exit with code 2."""
        self.exit(2, f"{self.prog}: error: {printable(message)}; see {self.prog} --help\n")


class FirstScreen(OneLineParser):
    """Parser of the program, whose help lists the commands in groups."""

    def format_help(self) -> str:
        """Return usage, groups of commands, and options."""
        width = min(max(_LEAST_HELP, shutil.get_terminal_size().columns), _MOST_HELP)
        lines = [self.format_usage(), self.description or ""]
        for headline, names in GROUPS.items():
            lines += ["", f"{headline}:"]
            for name in names:
                indent = f"    {name:<13} "
                lines += textwrap.wrap(COMMANDS[name][1], width, initial_indent=indent, subsequent_indent=" " * 18)
        lines += ["", "vlgauge COMMAND --help lists the options of a command, vlgauge --version the version."]
        return "\n".join(lines) + "\n"


class CommandParser(OneLineParser):
    """Parser of a command that gets its options from the module of the command when it is selected.

    Modules of commands can therefore import their dependencies at the top without slowing down other commands.
    """

    source = ""

    def parse_known_args(self, *arguments: Any) -> Any:  # type: ignore[override]
        """Add the options of the command and parse the arguments.

        The command runs the function `run` of its module, unless the module sets another one.

        Returns:
            The namespace, and the arguments that are left over.

        Raises:
            SystemExit: If an argument is not valid.
        """
        name, _, function = self.source.partition(":")
        module = import_module(f"vlgauge.cli.{name}")
        self.set_defaults(run=getattr(module, "run", None))
        getattr(module, function or "add_options")(self)
        return super().parse_known_args(*arguments)

    def add_subparsers(self, **how: Any) -> Any:
        """Add parsers of experiments and actions, whose options are added immediately, and return argparse's action."""
        return super().add_subparsers(parser_class=OneLineParser, **how)


def build_parser(command: str = "") -> argparse.ArgumentParser:
    """Return the parser with all commands, or with a single known command. No module of a command is imported."""
    parser = FirstScreen(prog="vlgauge", description="Metrics for image captions and visual stories.")
    parser.add_argument("--version", action="version", version=f"vlgauge {vlgauge.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=CommandParser)
    for name in [command] if command in COMMANDS else COMMANDS:
        source, purpose = COMMANDS[name]
        parser_of_one = commands.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
        parser_of_one.source = source
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Arguments after the program name. None for the arguments of the process.

    Returns:
        Exit code: 0 for success, 2 after an error, 130 after an interrupt, or the code that the command returns. Errors
        are one line on standard error, or several lines if several sources are missing.
    """
    _prepare_streams()
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = argparse.Namespace(words=words)
    try:
        build_parser(*words[:1]).parse_args(words, options)
        unseen = getattr(options, "no_progress", False)
        with (
            _exit_on_sigterm(),
            plain_warnings(f"vlgauge {options.command}") as options.warned,
            progress_chosen(False if unseen else None),
            lines_in_logs(not (unseen or getattr(options, "quiet", False))),
            use_sandbox(getattr(options, "untrusted", False)),
            limits(**{name: getattr(options, name, None) for name in vars(Limits())}),
            within_terminal(options),
            naming_arguments(partial(_name_argument, options)),
        ):
            check_distinct_targets(_targets(options))
            code: int = options.run(options) or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("vlgauge: interrupted\n")
        return 130
    except BrokenPipeError:
        # The reader, such as `head`, closed the pipe. Redirect the output, so that Python does not report it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if not is_of_user(error) or os.environ.get("VLGAUGE_DEBUG"):
            raise
        sys.stderr.write(f"vlgauge {options.command}: error: {one_line(error, options)}\n")
        return 2
    return code


def _prepare_streams() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # Standard streams are None if the parent process closed them.
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot encode must not lose the scores.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Exit by an exception on SIGTERM, so that temporary files are removed and worker processes are ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _targets(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the output files of a command with their options, including the second file next to a table of scores."""
    given = [(f"--{name.replace('_', '-')}", getattr(options, name, None)) for name in _WRITTEN]
    targets = [(name, str(path)) for name, path in given if path is not None]
    return targets + [(name, path + SIDECAR) for name, path in targets if name == "--output"]


@contextmanager
def plain_warnings(program: str) -> Iterator[list[str]]:
    """Show each warning for users once, as one line without its source line.

    Args:
        program: Prefix of the lines.

    Yields:
        Warnings that were printed so far.
    """
    printed: list[str] = []

    def show(message: Any, category: type[Warning], *where: Any, **named: Any) -> None:
        if issubclass(category, UserWarning):
            text = printable(str(message))
            if text not in printed:  # every compared system may raise the same warning
                printed.append(text)
                sys.stderr.write(f"{program}: warning: {text}\n")
        else:
            usual(message, category, *where, **named)

    with warnings.catch_warnings():
        usual: Any = warnings.showwarning
        warnings.showwarning = show
        yield printed


# Settings of metrics that have a separate option.
_SETTINGS_WITH_OPTION = {"profile": "profile", "config_name": "config"}


def _name_argument(options: argparse.Namespace, name: str, value: object, is_setting: bool) -> str:
    """Return the command-line form of a Python argument: an option, or a setting of the metric."""
    option = _SETTINGS_WITH_OPTION.get(name, "") if is_setting else name
    if option and hasattr(options, option):
        return f"--{option.replace('_', '-')}" + ("" if value is ... else f" {shlex.quote(str(value))}")
    if is_setting and hasattr(options, "set"):
        return f"--set {name}={'...' if value is ... else value}"
    return in_python(name, value, is_setting)


def one_line(error: Exception, options: argparse.Namespace | None = None) -> str:
    """Return the message of an error in one line.

    Several missing sources have one line each. An error about a setting names its option, or ``--set NAME=...``.
    """
    if isinstance(error, SourcesMissingError):
        return "\n".join(map(printable, str(error).splitlines()))
    text = describe(error)
    if options is not None and hasattr(options, "set") and isinstance(error, UsageError):
        name = error.argument or ""
        if name in {*_SETTINGS_WITH_OPTION, *_settings_of_metrics()} and not hasattr(options, name):
            text = error.in_words(_name_argument(options, name, ..., True))
    text = printable(text)
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}..."


def _settings_of_metrics() -> set[str]:
    """Return the names of the settings of all metric classes that are imported."""
    base = sys.modules.get("vlgauge.families.base")
    classes = [base.Metric] if base else []
    for one in classes:  # the list grows by the subclasses
        classes += one.__subclasses__()
    return {name for one in classes for name in setting_names(one)}
