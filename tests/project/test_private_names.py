"""The package uses only public names of other libraries."""

import ast
import functools
from collections import Counter

from folders import METRICS, ROOT

SHARED = ROOT / "shared" / "vlgauge"
# Documented, in spite of the underscore.
DOCUMENTED = {"_asdict", "_exit", "_fields", "_getframe", "_make", "_replace"}
ALLOWED = {
    "families/base/evaluate_adapter.py": {"_init_writer", "_module_info"},  # the adapter to evaluate
    "models/clip/tokens.py": {"_tokenizer"},  # the CLIP loader
    "models/clip/towers.py": {"_embeds", "_pool"},
    "integrations/ray.py": {"_temp_dir", "_node_ip_address"},  # keep ray.init on this machine
}
# Uses that are still to be replaced by public names.
TO_BE_REPLACED = {
    "integrations/torchmetrics.py": {"_apply", "_is_synced"},
}


def is_private(name):
    return name == "ctypes" or (name.startswith("_") and not name.endswith("__") and name not in DOCUMENTED | {"_"})


@functools.cache
def trees():
    """Return the nodes of the syntax tree of each module of the package, by its path."""
    files = {path.relative_to(SHARED).as_posix(): path for path in SHARED.rglob("*.py")}
    files |= {path.relative_to(ROOT).as_posix(): path for path in METRICS.rglob("*.py")}
    files |= {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "spaces").rglob("*.py")}
    assert len(files) > 200
    return {name: list(ast.walk(ast.parse(path.read_text("utf-8")))) for name, path in files.items()}


def defined_names(tree):
    """Yield the private names that a module defines, one in two classes twice."""
    for node in tree:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name


@functools.cache
def own_names():
    return Counter(name for tree in trees().values() for name in defined_names(tree) if is_private(name))


def private_uses(tree):
    """Yield the private names of other libraries in a module: attributes, keyword arguments and imports."""
    own = own_names()
    here = {node.name for node in tree if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in tree:
        match node:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                if own[name] < 2:  # An override that calls its parent: the package defines both or only one.
                    yield name
            case (
                ast.Attribute(value=of, attr=name)
                | ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[of, ast.Constant(value=str(name)), *_])
            ) if not (isinstance(of, ast.Name) and of.id in ("self", "cls", "other") and own[name]):
                if name not in here:
                    yield name
            case ast.keyword(arg=str(name)) if not own[name]:
                yield name
            case ast.ImportFrom(module=str(module), level=0, names=names) if not module.startswith("vlgauge"):
                yield from (*module.split("."), *(alias.name for alias in names))
            case ast.Import(names=names):
                yield from (part for alias in names for part in alias.name.split("."))


def test_no_module_uses_a_private_name_of_another_library():
    found = {name: {use for use in private_uses(tree) if is_private(use)} for name, tree in trees().items()}
    assert {name: uses for name, uses in found.items() if uses - ALLOWED.get(name, set())} == TO_BE_REPLACED
