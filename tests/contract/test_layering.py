"""Data goes one way: a file imports only from files above it.

`LAYERS` is the order; a new file is added where it belongs. A folder (`samplers`) is one layer, inside which imports
must not run in a circle. An import inside a function is a door to a later file (`tree.plot()` opens `plotting`): it
is allowed where `DOORS` says so.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import coaltree

SOURCE = Path(coaltree.__file__).parent

# fmt: off
LAYERS = [
    "_jit", "errors", "memory", "archive", "blas", "random_streams", "special", "gig", "slice_sampling",
    "merges", "linkage", "newick", "tree", "coalescent", "diffusion", "covariance",
    "samplers", "preparation", "missing",
    "distances", "clades", "partitions", "cluster_count", "consensus", "mixing", "posterior", "comparison",
    "convergence", "chain", "placement", "checkpoint", "progress", "known_covariance", "fit",
    "metrics", "datasets", "nexus", "io", "plotting", "report",
    "tables", "estimator", "demo", "cli", "__main__",
]
# fmt: on

DOORS: set[tuple[str, str]] = {
    ("tree", "coalescent"),  # tree.log_prior()
    ("tree", "covariance"),  # tree.log_likelihood()
    ("tree", "diffusion"),
    ("tree", "preparation"),
    ("tree", "plotting"),  # tree.plot()
    ("consensus", "plotting"),  # post.consensus().plot()
    ("posterior", "io"),  # post.save(), to_nexus(), to_arviz()
}


def imports_of(tree, module, is_package=False):
    """Pairs (dotted name below the package, is it inside a function?) that a parsed file imports from the package."""
    package = module if is_package else module.rpartition(".")[0]
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
    deferred = {id(inner) for function in functions for inner in ast.walk(function)}
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name.removeprefix("coaltree.") for alias in node.names if alias.name.startswith("coaltree.")]
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


def layer_of(name):
    return name.split(".")[0]


def violations(files, layers=LAYERS, doors=frozenset()):
    """One line for every import against the order; `files` maps a dotted module name to (source, is it a package?)."""
    found, inside = [], {}
    for module, (source, is_package) in files.items():
        here = layer_of(module)
        if here not in layers:
            found.append(f"{module} has no place in the order")
            continue
        for target, deferred in imports_of(ast.parse(source), module, is_package):
            there = layer_of(target)
            if there == here:
                known = max((m for m in files if target == m or target.startswith(m + ".")), key=len, default=module)
                if not deferred and known != module:
                    inside.setdefault(module, set()).add(known)
            elif there in layers:
                if layers.index(there) > layers.index(here) and not (deferred and (here, there) in doors):
                    found.append(f"{module} imports {target}, which stands below it")
            elif target != "__version__":
                found.append(f"{module} imports {target}, which has no place in the order")
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


def test_files_import_only_from_files_above_them():
    files = package_files()
    assert {"tree", "cli", "samplers"} <= set(files)
    assert violations(files, doors=DOORS) == []


def test_every_door_is_used():
    files = package_files()
    used = {
        (layer_of(module), layer_of(target))
        for module, (source, is_package) in files.items()
        for target, deferred in imports_of(ast.parse(source), module, is_package)
        if deferred
    }
    assert used >= DOORS


def test_the_package_itself_imports_nothing_of_its_own():
    assert imports_of(ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8")), "", is_package=True) == []


def test_violations_are_seen():
    def seen(module, source, **others):
        files = {module: (source, False)} | {name.replace("__", "."): (text, False) for name, text in others.items()}
        return violations(files)

    assert seen("tree", "from .errors import InputError\nimport numpy") == []
    assert seen("tree", "from .coalescent import rates") == ["tree imports coalescent.rates, which stands below it"]
    assert seen("tree", "from . import coalescent") == ["tree imports coalescent, which stands below it"]
    assert seen("tree", "import coaltree.fit") == ["tree imports fit, which stands below it"]
    assert seen("tree", "from coaltree.fit import fit") == ["tree imports fit.fit, which stands below it"]
    assert seen("samplers.base", "from ..fit import fit") == ["samplers.base imports fit.fit, which stands below it"]
    assert seen("samplers.base", "from ..tree import Tree") == []
    assert seen("gig", "from . import Tree") == ["gig imports Tree, which has no place in the order"]
    assert seen("gig", "from . import __version__") == []
    assert seen("gig", "from .elsewhere import x") == ["gig imports elsewhere.x, which has no place in the order"]
    assert seen("elsewhere", "") == ["elsewhere has no place in the order"]
    circle = seen("samplers.a", "from .b import f", samplers__b="from .a import g")
    assert len(circle) == 1
    assert circle[0].startswith("a circle")


def test_a_door_counts_only_inside_a_function():
    inside = {"tree": ("def plot():\n    from .plotting import draw\n", False)}
    outside = {"tree": ("from .plotting import draw\n", False)}
    assert violations(inside, doors={("tree", "plotting")}) == []
    assert len(violations(inside)) == 1
    assert len(violations(outside, doors={("tree", "plotting")})) == 1
