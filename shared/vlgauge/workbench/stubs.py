"""Gradio, imported without the stubs of its components.

At each import Gradio reads the source of every component and writes a stub beside it, for editors. That takes half of
the time of the import.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_WRITER = "gradio.component_meta"


class _Finder(MetaPathFinder):
    """Finds the one module that writes stubs, and takes the function from it that does so."""

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == _WRITER else None
        if spec and spec.loader:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                vars(module)["create_or_modify_pyi"] = lambda *_: None

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextmanager
def no_stubs() -> Iterator[None]:
    """Nothing that is imported in here writes stubs."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
