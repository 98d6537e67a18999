"""Data goes one way: a file imports from its own room and from rooms above it.

`ROOMS` is the order, a room a folder or a file at the top; inside a room imports must not run in a circle. An import
inside a function, or for the type checker alone, may be a door to a later room (`tree.plot()` opens `plotting`): it is
allowed where `DOORS` says so.
A module that is fetched by name (`import_module`, `__import__`, `sys.modules`) would not be seen; only the two files
that load public names on first use may do that, and what their tables name must exist.
"""

import ast
import re
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import coaltree

SOURCE = Path(coaltree.__file__).parent

ROOMS = [
    "errors",
    "_runtime",
    "numerics",
    "tree",
    "model",
    "samplers",
    "posterior",
    "inference",
    "metrics",
    "plotting",
    "report",
    "estimator",
    "scanpy",
    "cli",
    "__main__",
]
DOORS = {
    ("tree.tree", "model"),  # tree.log_prior(), tree.log_likelihood() and the type of its covariance
    ("tree.rooted", "plotting"),  # tree.plot(), post.consensus().plot()
}
BY_NAME = {"", "samplers"}  # the files whose tables of public names are loaded on first use
UNSEEN = {"import_module", "__import__", "modules", "exec", "eval"}

parse = cache(ast.parse)  # several tests read all files


@cache
def nodes_of(tree):
    return list(ast.walk(tree))


def imports_of(tree, module, is_package=False):
    """Pairs (dotted name below the package, is it deferred?) that a parsed file imports from the package.

    Deferred is what is inside a function or under `if TYPE_CHECKING:`, and so does not happen on import.
    """
    package = module if is_package else module.rpartition(".")[0]
    later = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    for node in nodes_of(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            later += node.body
    deferred = {id(inner) for outer in later for inner in ast.walk(outer)}
    found = []
    for node in nodes_of(tree):
        names = []
        if isinstance(node, ast.Import):
            ours = [alias.name for alias in node.names if alias.name.split(".")[0] == "coaltree"]
            names = [name.removeprefix("coaltree").removeprefix(".") or "coaltree itself" for name in ours]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.split(".") if package else []
                up = up[: len(up) - (node.level - 1)]
                base = ".".join([*up, *([base] if base else [])])
            elif base == "coaltree" or base.startswith("coaltree."):
                base = base.removeprefix("coaltree").removeprefix(".")
            else:
                continue
            # `from .tree import Tree` names the file; `from . import tree` names it among the aliases.
            names = [f"{base}.{alias.name}".strip(".") for alias in node.names]
        found += [(name, id(node) in deferred) for name in names]
    return found


def unseen_of(tree):
    """Names by which a parsed file could reach a module behind this test's back."""
    used = {node.attr for node in nodes_of(tree) if isinstance(node, ast.Attribute)}
    used |= {node.id for node in nodes_of(tree) if isinstance(node, ast.Name)}
    used |= {alias.name for node in nodes_of(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return sorted(used & UNSEEN)


def room_of(name):
    return name.split(".")[0]


def violations(files, rooms=ROOMS, doors=frozenset()):
    """One line for every import against the order; `files` maps a dotted module name to (source, is it a package?)."""
    found, inside = [], {}
    for module, (source, is_package) in files.items():
        parsed, here = parse(source), room_of(module)
        if here not in rooms:
            found.append(f"{module} is in no room")
            continue
        if module not in BY_NAME:
            found += [f"{module} uses {name}, behind which no import is seen" for name in unseen_of(parsed)]
        for target, deferred in imports_of(parsed, module, is_package):
            there = room_of(target)
            if there == here:
                known = max((m for m in files if target == m or target.startswith(m + ".")), key=len, default=module)
                if not deferred and known != module:
                    inside.setdefault(module, set()).add(known)
            elif there in rooms:
                if rooms.index(there) > rooms.index(here) and not (deferred and (module, there) in doors):
                    found.append(f"{module} imports {target}, which is in a later room")
            elif target != "__version__":
                found.append(f"{module} imports {target}, which is in no room")
    try:
        TopologicalSorter(inside).prepare()
    except CycleError as error:
        found.append("a circle: " + " -> ".join(error.args[1]))
    return found


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
    assert violations(files, doors=DOORS) == []


def test_every_room_and_every_door_is_used():
    files = package_files()
    assert {room_of(module) for module in files} == set(ROOMS)
    used = {
        (module, room_of(target))
        for module, (source, is_package) in files.items()
        for target, deferred in imports_of(parse(source), module, is_package)
        if deferred
    }
    assert used >= DOORS


def test_the_package_itself_imports_nothing_of_its_own():
    assert imports_of(parse((SOURCE / "__init__.py").read_text(encoding="utf-8")), "", is_package=True) == []


def privates_reached(source):
    """Private attributes that a file asks of other objects than self, though it does not define them itself."""
    tree = parse(source)
    defined = {node.name for node in nodes_of(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    reached = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            (defined if own else reached).add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.level:
            reached |= {alias.name for alias in node.names if alias.name.startswith("_")}
    return reached - defined - {"_replace", "_asdict", "_runtime", "__version__"}


def test_no_file_reaches_into_the_privates_of_another():
    files = {module: source for module, (source, _) in package_files().items()}
    found = {module: privates_reached(source) for module, source in files.items()}
    family = {module for module in files if module.startswith("model.covariance.")}  # which shares its base class
    reached = {module: names for module, names in found.items() if names and module not in family}
    assert reached == {}
    assert privates_reached("def f(post):\n    return post._times") == {"_times"}
    assert privates_reached("from .tree import _check") == {"_check"}
    assert privates_reached("class A:\n    def f(self, other):\n        return self._a == other._a") == set()


def test_tests_mirror_the_files():
    """A module has a test file of its name in the mirrored folder, and a test file a module."""
    root = Path(__file__).parents[1] / "unit"
    tests = {".".join((*path.relative_to(root).parts[:-1], path.stem[5:])) for path in root.rglob("test_*.py")}
    modules = {module for module, (_, is_package) in package_files().items() if not is_package}
    assert modules - tests - WITHOUT_TESTS == set()
    assert tests - set(package_files()) - {"package", "benchmarks", "experiments"} == set()


WITHOUT_TESTS = {"__main__", "_runtime.typing", "posterior.of_draws"}  # one line, and names of types


def test_rooms_are_small():
    """At most 14 files to a folder, 60 lines to a function without its signature and docstring, four levels deep."""
    folders = Counter(path.parent for path in SOURCE.rglob("*.py"))
    assert {str(folder) for folder, n_files in folders.items() if n_files > 14} == set()
    long, deep = [], []
    for module, (source, _) in package_files().items():
        for node in nodes_of(parse(source)):
            if isinstance(node, ast.FunctionDef):
                long += [f"{module}.{node.name}"] if n_lines(node) > 60 else []
                deep += [f"{module}.{node.name}"] if depth(node.body) > 4 else []
    assert long == []
    assert deep == []


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


def test_rooms_too_large_are_seen():
    deep = parse("def f():\n for a in b:\n  if a:\n   while c:\n    with d:\n     if e:\n      pass\n").body[0]
    assert depth(deep.body) == 5
    chain = parse("def f():\n if a:\n  pass\n elif b:\n  pass\n elif c:\n  pass\n").body[0]
    assert depth(chain.body) == 1
    assert n_lines(parse("def f(\n a,\n b):\n 'Words.'\n\n x = 1\n return x\n").body[0]) == 2


def test_contributing_shows_the_rooms_in_order():
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    layout = text.partition("src/coaltree/\n")[2].partition("\ntests/")[0]
    listed = re.findall(r"^  (\w+)/? ", layout, flags=re.MULTILINE)
    assert [room for room in listed if room != "__init__"] == [room for room in ROOMS if room != "__main__"]


def test_violations_are_seen():
    def seen(module, source, **others):
        files = {module: (source, False)} | {name.replace("__", "."): (text, False) for name, text in others.items()}
        return violations(files)

    later = "which is in a later room"
    assert seen("tree.tree", "from ..errors import InputError\nimport numpy\nfrom .merges import parents") == []
    assert seen("tree.tree", "from ..model.coalescent import rates") == [
        f"tree.tree imports model.coalescent.rates, {later}"
    ]
    assert seen("tree.tree", "from ..model import coalescent") == [f"tree.tree imports model.coalescent, {later}"]
    assert seen("tree.tree", "import coaltree.inference.fit") == [f"tree.tree imports inference.fit, {later}"]
    assert seen("tree.tree", "from coaltree.cli import main") == [f"tree.tree imports cli.main, {later}"]
    assert seen("samplers.merging.smc", "from ...inference.fit import fit") == [
        f"samplers.merging.smc imports inference.fit.fit, {later}"
    ]
    assert seen("samplers.merging.smc", "from ...tree import Tree") == []
    assert seen("numerics.gig", "from .. import Tree") == ["numerics.gig imports Tree, which is in no room"]
    assert seen("numerics.gig", "from .. import __version__") == []
    assert seen("numerics.gig", "import coaltree") == ["numerics.gig imports coaltree itself, which is in no room"]
    assert seen("elsewhere", "") == ["elsewhere is in no room"]
    circle = seen("samplers.a", "from .b import f", samplers__b="from .a import g")
    assert len(circle) == 1
    assert circle[0].startswith("a circle")


def test_modules_fetched_by_name_are_seen():
    for source in (
        "from importlib import import_module",
        "import importlib\nimportlib.import_module('coaltree.cli')",
        "import sys\nsys.modules['coaltree.cli']",
        "__import__('coaltree.cli')",
    ):
        assert len(violations({"tree.tree": (source, False)})) == 1
        assert violations({"samplers": (source, True)}) == []


def test_a_door_counts_only_inside_a_function_or_for_types():
    for inside in (
        "def plot():\n    from ..plotting import draw\n",
        "if TYPE_CHECKING:\n    from ..plotting import draw\n",
    ):
        assert violations({"tree.tree": (inside, False)}, doors={("tree.tree", "plotting")}) == []
        assert len(violations({"tree.tree": (inside, False)})) == 1
    for outside in (
        "from ..plotting import draw\n",
        "if TYPE_CHECKING:\n    import numpy\nelse:\n    from ..plotting import draw\n",
    ):
        assert len(violations({"tree.tree": (outside, False)}, doors={("tree.tree", "plotting")})) == 1
