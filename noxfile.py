#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.10.14"]
# ///
"""What `make` does, where there is no make (as on Windows): `pip install nox`, then `nox`, or `nox -s docs`."""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"


def install(session, *groups):
    """Install the package with developers' groups of pyproject.toml, at the versions of constraints.txt."""
    options = [option for group in groups for option in ("--group", group)]
    session.install("--constraint", "constraints.txt", "--editable", ".", *options)


@nox.session
def tests(session):
    """Run the tests that take seconds each; further arguments are pytest's."""
    install(session, "test")
    session.run("pytest", "--numprocesses", "2", "--dist", "worksteal", *session.posargs)


@nox.session(default=False)
def check(session):
    """Look at formatting, lint, spelling and types."""
    install(session, "test", "check")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("codespell")
    session.run("mypy")


@nox.session(default=False)
def docs(session):
    """Build the documentation into site/."""
    install(session, "docs")
    session.run("sphinx-build", "--fail-on-warning", "--nitpicky", "docs", "site")


if __name__ == "__main__":
    nox.main()
