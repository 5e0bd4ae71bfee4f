"""Heavy libraries, imported without the parts of them that nobody has touched yet.

A part that is put off stands in `sys.modules` as an empty module, and what others import from it as an object that
forwards. The first touch, by us or by the user, imports the real part and puts its names where the stand-ins were, so
that every library behaves as a whole; a part that is missing on this machine fails as it always did.
"""

from __future__ import annotations

import importlib
import sys
import threading
from types import ModuleType
from typing import Any

# Library -> its parts that no score needs.
PUT_OFF = {
    # Evaluators and suites: scipy.stats, and transformers and torch where they are installed.
    "evaluate": ("evaluate.evaluator", "evaluate.evaluation_suite"),
    # One function, of detectors on other devices, is all that it wants of torch's compiler.
    "torchvision": ("torch._dynamo", "torch._dynamo.utils"),
    # Towers of timm and of transformers, and captioning.
    "open_clip": ("open_clip.timm_model", "open_clip.hf_model", "open_clip.coca_model"),
}
# Libraries that another one imports.
_FIRST = {"open_clip": ("torch", "torchvision")}

_LOCK = threading.RLock()


def lean_import(library: str) -> ModuleType:
    """A library of `PUT_OFF`; one that is imported already stays as it is.

    Raises:
        ImportError: If the library, or what it needs, is not installed.
    """
    with _LOCK:
        if library in sys.modules:
            return importlib.import_module(library)
        for other in _FIRST.get(library, ()):
            if other in PUT_OFF:
                lean_import(other)
            else:
                importlib.import_module(other)
        if any(part in sys.modules for part in PUT_OFF[library]):
            return importlib.import_module(library)
        return _Parts(library).import_library()


class _Parts:
    """The parts of one library that are put off together."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.modules = {name: _PartModule(name, self) for name in PUT_OFF[library]}
        self.names: list[_Name] = []
        self.importing = True

    def import_library(self) -> ModuleType:
        """The library with its parts put off."""
        sys.modules.update(self.modules)
        try:
            return importlib.import_module(self.library)
        except BaseException:
            self._withdraw()
            raise
        finally:
            self.importing = False

    def real(self, part: str) -> ModuleType:
        """A part itself; all of them are imported now, and every stand-in is replaced."""
        with _LOCK:
            self.importing = False
            if self._withdraw():
                holders = self._holders()
                for name in self.modules:
                    importlib.import_module(name)
                for module, attribute, stand_in in holders:
                    setattr(module, attribute, stand_in.real())
            return importlib.import_module(part)

    def _withdraw(self) -> bool:
        """Take the stand-ins out of the table of modules; False if that was done before."""
        there = [name for name, module in self.modules.items() if sys.modules.get(name) is module]
        for name in there:
            del sys.modules[name]
        return bool(there)

    def _holders(self) -> list[tuple[ModuleType, str, _Name]]:
        """Where the stand-ins are: modules of the library, and the names that they have there."""
        own = (self.library, f"{self.library}.")
        return [
            (module, attribute, value)
            for key, module in list(sys.modules.items())
            if key == own[0] or key.startswith(own[1])
            for attribute, value in list(vars(module).items())
            if type(value) is _Name and value.parts is self
        ]


class _PartModule(ModuleType):
    """Stands for a part in the table of modules."""

    def __init__(self, name: str, parts: _Parts) -> None:
        super().__init__(name)
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        # Whoever looks through the table of modules asks for names such as __file__ and wants no import.
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if self._parts.importing:
            return _Name(name, self.__name__, self._parts)
        return getattr(self._parts.real(self.__name__), name)


class _Name:
    """Stands for a class or a function of a part, in whatever way that may be used."""

    def __init__(self, name: str, module: str, parts: _Parts) -> None:
        self.name = name
        self.module = module
        self.parts = parts

    def real(self) -> Any:
        return getattr(self.parts.real(self.module), self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.real()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real(), name)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.real())

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self.real())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.real(),)
