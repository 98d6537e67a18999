"""What README shows runs as it stands there."""

import re
import shlex
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def python_blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_code_in_readme_runs(monkeypatch, tmp_path):
    blocks = python_blocks(README.read_text(encoding="utf-8"))
    assert blocks
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    # One reader, one session: a later block may use the names of an earlier one.
    names = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert names["ct"].__name__ == "coaltree"


def test_commands_in_readme_run(monkeypatch, tmp_path, capsys):
    from coaltree.cli import main

    blocks = re.findall(r"^```\n(.*?)^```$", README.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    lines = [shlex.split(line, comments=True) for line in "".join(blocks).splitlines() if line.startswith("coaltree ")]
    assert {"demo", "fit", "simulate", "info", "plot", "report"} <= {name for _, name, *_ in lines}
    monkeypatch.chdir(tmp_path)
    for _, *args in lines:
        assert main(args) == 0, (args, capsys.readouterr().err)
