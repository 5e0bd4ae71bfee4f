"""Messages that name keywords of Python, in the words of the command line."""

import argparse
import re

# What a message says -> what a command says; a setting has one form in Python and one in commands.
_OF_PROFILE = ((re.compile(r"(?<!`)\bprofile=(['\"])(\w+)\1"), r"--profile \2"),)
_OF_SETTINGS = (
    (
        re.compile(r"`table` is missing: pass (.*), to `load` or to `compute`"),
        r"`table` is missing: give \1, as --set table=...",
    ),
    (re.compile(r"\bload the configuration of a named table\b"), "choose a named table by --config"),
    (re.compile(r"\b(pass|or) `(\w+)`"), r"\1 --set \2=..."),
    (re.compile(r"\bpass a file as `(\w+)`"), r"pass a file as --set \1=FILE"),
    (re.compile(r"\bchoose (\w+)=(['\"])([\w.-]+)\2"), r"choose --set \1=\3"),
)


def in_words_of_commands(message: str, options: argparse.Namespace) -> str:
    """The message, as far as the command has options for what it names."""
    known = [("profile", _OF_PROFILE), ("set", _OF_SETTINGS)]
    for option, forms in known:
        for pattern, words in forms if hasattr(options, option) else ():
            message = pattern.sub(words, message)
    return message
