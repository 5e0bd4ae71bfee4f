"""Heavy libraries, imported without the parts of them that nobody has touched yet.

While a library is imported, a part that is put off is an empty module in `sys.modules`, and what the library imports
from it an object that forwards. Afterwards the table of modules is as it was, so that anybody can import the part.
Whoever asks a module of the library for such an object gets the real one: the parts are imported then, and a part that
is missing on this machine fails as it always did.

This is the one place where parts are put off. It stands on the lowest floor, since those who need it stand on several:
`vlgauge.load` and the base of all metrics before the host is there, and the encoders before open_clip is.
"""

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
# A worker of Ray starts the first, which only collects garbage; the second kills late workers of the sandbox; the third
# draws bars that are late.
_IMPORTS_NOTHING = {"PythonGCThread", "vlgauge-sandbox", "tqdm_monitor"}


def lean_import(library: str) -> ModuleType:
    """A library of `PUT_OFF`; one that is imported already stays as it is.

    Raises:
        ImportError: If the library, or what it needs, is not installed.
    """
    if library in sys.modules:
        return importlib.import_module(library)
    for other in _FIRST.get(library, ()):
        if other in PUT_OFF:
            lean_import(other)
        else:
            importlib.import_module(other)
    # Another thread could import a part just while an empty module stands there.
    if _others_may_import() or any(part in sys.modules for part in PUT_OFF[library]):
        return importlib.import_module(library)
    return _Parts(library).import_library()


def _others_may_import() -> bool:
    """Whether there is a thread beside this one that may import something."""
    return any(
        thread is not threading.current_thread() and thread.name not in _IMPORTS_NOTHING
        for thread in threading.enumerate()
    )


class _Parts:
    """The parts of one library that are put off together."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.modules = {name: _PartModule(name, self) for name in PUT_OFF[library]}
        self.holders: list[ModuleType] = []

    def import_library(self) -> ModuleType:
        """The library with its parts put off."""
        sys.modules.update(self.modules)
        try:
            library = importlib.import_module(self.library)
        finally:
            self.withdraw()
        for part in self.modules:
            parent, _, name = part.rpartition(".")
            if parent == self.library:
                vars(library).setdefault(name, _StandIn(None, part, self))
        self.holders = [module for key, module in sys.modules.items() if self.has_module(key) and _stand_ins(module)]
        for module in self.holders:
            module.__class__ = _Holder
        return library

    def has_module(self, name: str) -> bool:
        """Whether a module of this name is of the library itself."""
        return name == self.library or name.startswith(f"{self.library}.")

    def withdraw(self) -> None:
        """Take the empty modules out of the table of modules."""
        for name, module in self.modules.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]

    def settle(self) -> None:
        """Import all parts, and put what is real in the place of every stand-in."""
        self.withdraw()
        for part in self.modules:
            importlib.import_module(part)
        for module in self.holders:
            for name, stand_in in _stand_ins(module).items():
                _names(module)[name] = stand_in.resolved()
            module.__class__ = ModuleType


class _PartModule(ModuleType):
    """Stands for a part in the table of modules while the library is imported."""

    def __init__(self, name: str, parts: _Parts) -> None:
        super().__init__(name)
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        # Whoever looks through the table of modules asks for names such as __file__ and wants no import.
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        stand_in = _StandIn(name, self.__name__, self._parts)
        # Only modules of the library get their stand-ins replaced later.
        importer = sys._getframe(1).f_globals.get("__name__", "")
        return stand_in if self._parts.has_module(importer) else stand_in.real()


class _Holder(ModuleType):
    """A module of the library that has stand-ins and gives the real things to whoever asks from outside."""

    def __getattribute__(self, name: str) -> Any:
        value = ModuleType.__getattribute__(self, name)
        if name == "__dict__":
            for stand_in in _stand_ins(self).values():
                stand_in.real()
        return value.real() if type(value) is _StandIn else value

    def __setattr__(self, name: str, value: Any) -> None:
        held = _names(self).get(name)
        if type(held) is _StandIn:
            held.real()
            # An import of a part gives it to the library, which has put something else there, or the same.
            if isinstance(value, ModuleType) and value.__name__ == held.module:
                return
        ModuleType.__setattr__(self, name, value)


class _StandIn:
    """Stands for a part, or a class or a function of it, in whatever way the library itself may use that."""

    def __init__(self, name: str | None, module: str, parts: _Parts) -> None:
        self.name = name
        self.module = module
        self.parts = parts

    def real(self) -> Any:
        """What this stands for; from now on it stands there itself."""
        self.parts.settle()
        return self.resolved()

    def resolved(self) -> Any:
        """What this stands for."""
        part = importlib.import_module(self.module)
        return part if self.name is None else getattr(part, self.name)

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


def _names(module: ModuleType) -> dict[str, Any]:
    """The names of a module, stand-ins among them."""
    return ModuleType.__getattribute__(module, "__dict__")


def _stand_ins(module: ModuleType) -> dict[str, _StandIn]:
    return {name: value for name, value in list(_names(module).items()) if type(value) is _StandIn}
