"""The package as an object: what a user's functions carry along, and its version."""

import re
import tomllib
from pathlib import Path

import joblib
import pytest

import coaltree as ct
from tests.posteriors import random_posterior

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_functions_of_a_script_reach_workers(backend):
    # A function defined where it cannot be imported from, as in a notebook, is sent with all that it refers to.
    scope = {"ct": ct, "__name__": "__main__"}
    exec("def error_of(number):\n    return type(ct.InputError(number)).__name__", scope)
    with joblib.Parallel(n_jobs=2, backend=backend) as parallel:
        assert parallel(joblib.delayed(scope["error_of"])(number) for number in range(2)) == ["InputError"] * 2


def test_the_version_stands_in_one_place():
    # Builds take it from the package, and the citation names none; only the changelog's newest heading must follow.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "coaltree.__version__"}
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), flags=re.MULTILINE)
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert newest[1] == ct.__version__


def test_the_conda_recipe_follows_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{ct.__version__}"' in recipe
    assert f"summary: {project['description']}" in recipe
    needed = [
        re.sub(r"(?<=[a-z0-9])>=", " >=", one).replace("matplotlib ", "matplotlib-base ")
        for one in project["dependencies"]
    ]
    run = recipe.partition("  run:\n    - python")[2].partition("\ntests:")[0]
    assert re.findall(r"^    - (.*)$", run, re.M) == needed


def test_completion_shows_public_names_only():
    assert dir(ct.plotting) == sorted(ct.plotting.__all__)
    post = random_posterior(3)
    names = dir(post)
    assert not any(name.startswith("_") for name in names)
    assert {"summary", "plot", "to_newick", "to_linkage", "draws"} <= set(names)
    assert len(names) <= 36
