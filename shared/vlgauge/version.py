"""Version of the package, in a module without imports that all other modules can import."""

__version__ = "0.1.0"
