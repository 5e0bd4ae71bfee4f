"""Imports of heavy libraries that defer submodules until they are used.

While a library is imported, a deferred submodule is an empty module in `sys.modules`, and the names that the library
imports from it are forwarding objects. `sys.modules` is restored afterwards, so that any code can import the submodule.
On access to such an object through a module of the library, the submodules are imported and the real object is
returned. A submodule that is missing on this machine then fails with its usual error.

This module is the only one that defers submodules. It is in the lowest layer because several layers use it:
`vlgauge.load` and the base classes of metrics before `evaluate` is imported, and the encoders before open_clip is.
"""

import importlib
import sys
import threading
from types import ModuleType
from typing import Any

# Submodules that no score needs, by library.
PUT_OFF = {
    # Evaluators and suites, which import scipy.stats, and torch and transformers if installed.
    "evaluate": ("evaluate.evaluator", "evaluate.evaluation_suite"),
    # torchvision uses only one function of the torch compiler, for detectors on other devices.
    "torchvision": ("torch._dynamo", "torch._dynamo.utils"),
    # Image towers of timm, text towers of transformers, and captioning models.
    "open_clip": ("open_clip.timm_model", "open_clip.hf_model", "open_clip.coca_model"),
}
# Dependencies to import first.
_FIRST = {"open_clip": ("torch", "torchvision")}
# Threads that import nothing: garbage collection of a Ray worker, termination of late sandbox workers, and redrawing of
# late progress bars.
_IMPORTS_NOTHING = {"PythonGCThread", "vlgauge-sandbox", "tqdm_monitor"}


def lean_import(library: str) -> ModuleType:
    """Import a library of `PUT_OFF` with deferred submodules. A library that is already imported is returned unchanged.

    Raises:
        ImportError: If the library or one of its dependencies is not installed.
    """
    if library in sys.modules:
        return importlib.import_module(library)
    for other in _FIRST.get(library, ()):
        if other in PUT_OFF:
            lean_import(other)
        else:
            importlib.import_module(other)
    # Import normally if another thread could import a submodule while it is replaced.
    if _others_may_import() or any(part in sys.modules for part in PUT_OFF[library]):
        return importlib.import_module(library)
    return _Parts(library).import_library()


def _others_may_import() -> bool:
    return any(
        thread is not threading.current_thread() and thread.name not in _IMPORTS_NOTHING
        for thread in threading.enumerate()
    )


class _Parts:
    """Deferred submodules of one library, which are imported together."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.modules = {name: _PartModule(name, self) for name in PUT_OFF[library]}
        self.holders: list[ModuleType] = []

    def import_library(self) -> ModuleType:
        """Import the library with deferred submodules."""
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
        """Return whether a module of this name belongs to the library."""
        return name == self.library or name.startswith(f"{self.library}.")

    def withdraw(self) -> None:
        """Remove the empty modules from `sys.modules`."""
        for name, module in self.modules.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]

    def settle(self) -> None:
        """Import all deferred submodules, and replace every forwarding object with the real one."""
        self.withdraw()
        for part in self.modules:
            importlib.import_module(part)
        for module in self.holders:
            for name, stand_in in _stand_ins(module).items():
                _names(module)[name] = stand_in.resolve()
            module.__class__ = ModuleType


class _PartModule(ModuleType):
    """Empty module that replaces a deferred submodule in `sys.modules` while the library is imported."""

    def __init__(self, name: str, parts: _Parts) -> None:
        super().__init__(name)
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        # Code that inspects `sys.modules` reads names such as __file__, which must not trigger imports.
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        stand_in = _StandIn(name, self.__name__, self._parts)
        # Return the real object to other importers, because only modules of the library get updated later.
        importer = sys._getframe(1).f_globals.get("__name__", "")
        return stand_in if self._parts.has_module(importer) else stand_in.real()


class _Holder(ModuleType):
    """Module of the library that contains forwarding objects and returns the real objects to code outside of it."""

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
            # Importing a submodule sets it as an attribute of the library, which has already set this name.
            if isinstance(value, ModuleType) and value.__name__ == held.module:
                return
        ModuleType.__setattr__(self, name, value)


class _StandIn:
    """Forwarding object for a deferred submodule, or a class or function of it, in all uses by the library itself."""

    def __init__(self, name: str | None, module: str, parts: _Parts) -> None:
        self.name = name
        self.module = module
        self.parts = parts

    def real(self) -> Any:
        """Import the deferred submodules and return the real object, which replaces this one from now on."""
        self.parts.settle()
        return self.resolve()

    def resolve(self) -> Any:
        """Return the real object."""
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
    """Return the namespace of a module, including forwarding objects."""
    return ModuleType.__getattribute__(module, "__dict__")


def _stand_ins(module: ModuleType) -> dict[str, _StandIn]:
    return {name: value for name, value in list(_names(module).items()) if type(value) is _StandIn}
