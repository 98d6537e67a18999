"""What editors and type checkers read is what runs: stubs and tables name the same."""

import ast
from pathlib import Path

import coaltree
from coaltree import samplers

SOURCE = Path(coaltree.__file__).parent


def imports_of_stub(path):
    """{public name: module that it is imported from, as seen from the stub}, and the names that are only declared."""
    imported, declared = {}, set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname == alias.name:  # `import x as x` makes a name of a stub public
                    imported[alias.name] = node.module or alias.name
        elif isinstance(node, ast.AnnAssign):
            declared.add(node.target.id)
        elif isinstance(node, ast.FunctionDef):
            declared.add(node.name)
    return imported, declared


def test_stub_names_what_the_package_loads():
    imported, declared = imports_of_stub(SOURCE / "__init__.pyi")
    assert imported == coaltree._HOME_OF | {name: name for name in coaltree._MODULES}
    assert declared == {"__version__"}
    assert set(coaltree.__all__) == set(imported) | declared


def test_stub_of_the_samplers_names_what_they_load():
    imported, declared = imports_of_stub(SOURCE / "samplers" / "__init__.pyi")
    assert imported == samplers.HOME_OF
    assert set(samplers.__all__) == set(imported) | declared - {"HOME_OF"}
