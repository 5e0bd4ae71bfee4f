"""Options shared by the training recipes, and checks before a run."""

import argparse
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from vlgauge.checkpoints.torch_runtime import missing_packages
from vlgauge.core.errors import MissingExtraError, UsageError
from vlgauge.core.run_locks import exclusive_run
from vlgauge.core.validation import check_int

# Folder in the output, and file in this folder, with the state of an unfinished run.
INTERRUPTED, STATE = "interrupted", "state.pt"


@dataclass(frozen=True)
class Recipe:
    """Settings of a training over epochs. The defaults follow RoViST-C (Wang et al., 2022, Appendix A).

    Attributes:
        learning_rate: Learning rate of the first epoch.
        decay: Factor of the learning rate after each epoch.
        weight_decay: Weight decay of Adam, added to the gradient.
        batch_size: Samples per step.
        epochs: Maximum number of epochs.
        patience: Number of epochs without a lower validation loss after which training stops.
        seed: Seed of the order of the samples and of dropout.
    """

    learning_rate: float = 1e-5
    decay: float = 0.95
    weight_decay: float = 1e-5
    batch_size: int = 32
    epochs: int = 50
    patience: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_int("seed", self.seed, 0, 2**63 - 1)  # torch rejects larger seeds
        for name in ("batch_size", "epochs", "patience"):
            check_int(name, getattr(self, name), 1)


SomeRecipe = TypeVar("SomeRecipe", bound=Recipe)


def add_run_options(parser: argparse.ArgumentParser, recipe: Recipe) -> None:
    """Add an option for each setting of the recipe, and options of the run.

    The metadata of a field are arguments of `add_argument`.
    """
    for setting in fields(recipe):
        default = getattr(recipe, setting.name)
        kind = setting.metadata.get("type", type(default))
        metavar = "N" if kind is int else "X"
        how = {"type": kind, "metavar": metavar, "help": "default: %(default)s", **setting.metadata}
        parser.add_argument(f"--{setting.name.replace('_', '-')}", default=default, **how)
    parser.add_argument("--device", default="auto", help="device of torch (default: auto)")
    parser.add_argument("--half", action="store_true", help="store the weights in float16")
    parser.add_argument("--restart", action="store_true", help="discard an interrupted run in OUT")
    add_overwrite(parser.add_argument)
    parser.add_argument("--no-plot", dest="plot", action="store_false", help="do not plot the losses")
    parser.add_argument("--no-progress", action="store_true", help="disable progress bars")
    parser.add_argument("--about", default="", metavar="TEXT", help="a paragraph for the card")


def clip_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments for loading a CLIP by name, except for the name of the backbone."""
    return {name: getattr(options, name) for name in ("weights", "profile", "device", "feature_cache")}


def recipe_of(options: argparse.Namespace, defaults: SomeRecipe) -> SomeRecipe:
    """Return the recipe with the selected settings."""
    return replace(defaults, **{setting.name: getattr(options, setting.name) for setting in fields(defaults)})


def add_overwrite(add_argument: Callable[..., object]) -> None:
    """Add the option that allows a training to replace a finished one."""
    add_argument("--overwrite", action="store_true", help="replace a finished training")


def keep_finished(argument: str, files: Iterable[Path], *, overwrite: bool) -> None:
    """Check that no file of a finished training exists, unless `overwrite` is True.

    Raises:
        ValueError: If one exists.
    """
    there = [] if overwrite else [path for path in files if path.exists()]
    if there:
        raise UsageError.about(
            argument,
            f"must be a new path, got {str(there[0])!r}, which exists",
            "choose another name, or pass --overwrite to replace it",
        )


def check_at_least(options: argparse.Namespace, least: Mapping[str, int]) -> None:
    """Check that options are not below their minimum. None passes.

    Raises:
        ValueError: If an option is.
    """
    for name, minimum in least.items():
        value = getattr(options, name)
        if value is not None and value < minimum:
            raise UsageError.about(f"--{name.replace('_', '-')}", f"must be at least {minimum}, got {value}")


def check_scene_options(options: argparse.Namespace) -> None:
    """Check that synthetic scenes are not combined with files of rows.

    Raises:
        ValueError: If they are.
    """
    for name in ("validation", "test", "image_folder"):
        if options.scenes is not None and getattr(options, name) is not None:
            raise UsageError.about(f"--{name.replace('_', '-')}", "cannot be combined with --scenes")


@contextmanager
def one_training(options: argparse.Namespace, files: Iterable[str], say: Callable[[str], object]) -> Iterator[None]:
    """Lock OUT for one training, and remove the state of an interrupted run at its end.

    Only `overwrite` replaces the `files` of a finished training. An interrupted run is resumed without it.

    Raises:
        RunInProgressError: If another training has the lock.
        UsageError: If a finished training would be replaced.
    """
    interrupted = options.output / INTERRUPTED
    with exclusive_run(options.output, "OUT", others=[interrupted / STATE]):
        if not interrupted.exists():
            keep_finished("OUT", (options.output / name for name in files), overwrite=options.overwrite)
        yield
        shutil.rmtree(interrupted, ignore_errors=True)
        say(f"wrote {options.output}")


def check_packages(recipe: str, packages: Sequence[str], *, plot: bool) -> None:
    """Check that all packages are installed before hours of work.

    Raises:
        ImportError: If a package is missing.
    """
    wanted = (*packages, "matplotlib") if plot else packages
    if problem := missing_packages(f"vlgauge train {recipe}", wanted, "train"):
        raise MissingExtraError(f"{problem}, or pass --no-plot" if "matplotlib" in problem else problem)
