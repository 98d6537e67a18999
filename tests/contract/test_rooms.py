"""Data goes one way: a file imports from its own room and from rooms above it.

`ROOMS` is the order, a room a folder or a file at the top; inside a room imports must not run in a circle. An import
inside a function, or for the type checker alone, may be a door to a later room (`tree.plot()` opens `plotting`): it is
allowed where `DOORS` says so.
"""

import ast
import re
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import coaltree

SOURCE = Path(coaltree.__file__).parent
ROOMS = "errors _runtime numerics tree model samplers posterior inference metrics plotting report estimator scanpy cli"
ROOMS = [*ROOMS.split(), "__main__"]
DOORS = {
    ("tree.tree", "model"),  # tree.log_prior(), tree.log_likelihood() and the type of its covariance
    ("tree.rooted", "plotting"),  # tree.plot(), post.consensus().plot()
    ("posterior.posterior", "plotting"),  # post.plot()
}
WITHOUT_TESTS = {"__main__", "_runtime.typing", "posterior.of_trees"}  # one line each, and names of types


@cache
def parse(source):
    """All nodes of a file."""
    return list(ast.walk(ast.parse(source)))


def imports_of(source, module, is_package=False):
    """Pairs (dotted name below the package, is it deferred?) that a file imports from the package.

    Deferred is what is inside a function or under `if TYPE_CHECKING:`, and so does not happen on import.
    """
    nodes = parse(source)
    package = module.split(".") if is_package else module.split(".")[:-1]
    later = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.Lambda)]
    for node in nodes:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            later += node.body
    deferred = {id(inner) for outer in later for inner in ast.walk(outer)}
    pairs = []
    for node in nodes:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "coaltree"]
        elif isinstance(node, ast.ImportFrom):
            base = ["coaltree", *package[: len(package) - node.level + 1]] if node.level else []
            base += node.module.split(".") if node.module else []
            # `from .tree import Tree` names the file; `from . import tree` names it among the aliases.
            names = [".".join([*base, alias.name]) for alias in node.names] if base[0] == "coaltree" else []
        pairs += [(name.removeprefix("coaltree").removeprefix("."), id(node) in deferred) for name in names]
    return pairs


def room_of(name):
    return name.split(".")[0]


def violations(files, doors=frozenset()):
    """One line for every import against the order; `files` maps a dotted module name to (source, is it a package?)."""
    wrong, inside = [], {}
    for module, (source, is_package) in files.items():
        here = room_of(module)
        for target, deferred in imports_of(source, module, is_package):
            there = room_of(target)
            if there == here:
                known = max((m for m in files if target == m or target.startswith(m + ".")), key=len, default=module)
                if not deferred and known != module:
                    inside.setdefault(module, set()).add(known)
            elif target != "__version__":
                is_above = here in ROOMS and there in ROOMS[: ROOMS.index(here)]
                if not is_above and not (deferred and (module, there) in doors):
                    wrong.append(f"{module} imports {target}")
    try:
        TopologicalSorter(inside).prepare()
    except CycleError as error:
        wrong.append("a circle: " + " -> ".join(error.args[1]))
    return wrong


@cache
def package_files():
    files = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        if module:
            files[module] = (path.read_text(encoding="utf-8"), is_package)
    return files


def test_files_import_only_from_their_room_and_those_above():
    files = package_files()
    assert {"tree.tree", "cli.commands.fit", "samplers.regraft.regraft"} <= set(files)
    assert {room_of(module) for module in files} == set(ROOMS)
    assert violations(files, DOORS) == []
    assert imports_of((SOURCE / "__init__.py").read_text(encoding="utf-8"), "", is_package=True) == []


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("tree.tree", "from ..errors import InputError\nimport numpy\nfrom .merges import parents", []),
        ("tree.tree", "from ..model.coalescent import rates", ["tree.tree imports model.coalescent.rates"]),
        ("tree.tree", "from ..model import coalescent", ["tree.tree imports model.coalescent"]),
        ("tree.tree", "import coaltree.inference.fit", ["tree.tree imports inference.fit"]),
        (
            "samplers.merging.smc",
            "from ...inference.fit import fit",
            ["samplers.merging.smc imports inference.fit.fit"],
        ),
        ("numerics.gig", "from .. import Tree", ["numerics.gig imports Tree"]),
        ("numerics.gig", "from .. import __version__", []),
        ("tree.tree", "def plot():\n    from ..plotting import draw", ["tree.tree imports plotting.draw"]),
        ("tree.rooted", "def plot():\n    from ..plotting import draw", []),
        ("tree.rooted", "if TYPE_CHECKING:\n    from ..plotting import draw", []),
        ("tree.rooted", "from ..plotting import draw", ["tree.rooted imports plotting.draw"]),
    ],
)
def test_violations_are_seen(module, source, wrong):
    assert violations({module: (source, False)}, DOORS) == wrong


def test_circles_are_seen():
    files = {"samplers.a": ("from .b import f", False), "samplers.b": ("from .a import g", False)}
    assert violations(files)[0].startswith("a circle")


def privates_reached(source):
    """Private attributes that a file asks of other objects than self, though it does not define them itself."""
    nodes = parse(source)
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    reached = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            (defined if own else reached).add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.level:
            reached |= {alias.name for alias in node.names if alias.name.startswith("_")}
    return reached - defined - {"_replace", "_asdict", "_runtime", "__version__"}


def test_no_file_reaches_into_the_privates_of_another():
    reached = {module: privates_reached(source) for module, (source, _) in package_files().items()}
    # covariances share their base class
    assert {m: names for m, names in reached.items() if names and not m.startswith("model.covariance.")} == {}
    assert privates_reached("def f(post):\n    return post._times") == {"_times"}


def test_tests_mirror_the_files():
    """A module has a test file of its name in the mirrored folder, and a test file a module."""
    root = Path(__file__).parents[1] / "unit"
    tests = {".".join((*path.relative_to(root).parts[:-1], path.stem[5:])) for path in root.rglob("test_*.py")}
    modules = {module for module, (_, is_package) in package_files().items() if not is_package}
    assert modules - tests - WITHOUT_TESTS == set()
    assert tests - set(package_files()) - {"package", "benchmarks", "experiments"} == set()


def test_rooms_are_small():
    """At most 14 files to a folder, 60 lines to a function without its signature and docstring, four levels deep."""
    folders = Counter(path.parent for path in SOURCE.rglob("*.py"))
    assert {str(folder) for folder, n_files in folders.items() if n_files > 14} == set()
    functions = {
        f"{module}.{node.name}": node
        for module, (source, _) in package_files().items()
        for node in parse(source)
        if isinstance(node, ast.FunctionDef)
    }
    assert [name for name, node in functions.items() if n_lines(node) > 60] == []
    assert [name for name, node in functions.items() if depth(node.body) > 4] == []


def n_lines(function):
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def depth(body):
    """How deeply blocks are nested; an elif is no deeper than its if."""
    deepest = 0
    for node in body:
        if isinstance(node, ast.For | ast.While | ast.If | ast.With | ast.Try):
            inner = [depth(node.body), *(depth(handler.body) for handler in getattr(node, "handlers", ()))]
            otherwise = getattr(node, "orelse", [])
            is_elif = isinstance(node, ast.If) and len(otherwise) == 1 and isinstance(otherwise[0], ast.If)
            inner.append(depth(otherwise) - is_elif)
            deepest = max(deepest, 1 + max(inner))
    return deepest


def test_contributing_shows_the_rooms_in_order():
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    layout = text.partition("src/coaltree/\n")[2].partition("\ntests/")[0]
    listed = re.findall(r"^  (\w+)/? ", layout, flags=re.MULTILINE)
    assert [room for room in listed if room != "__init__"] == [room for room in ROOMS if room != "__main__"]
