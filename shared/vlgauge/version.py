"""The version of the package, in a file that imports nothing, so that all others can name it."""

__version__ = "0.1.0"
