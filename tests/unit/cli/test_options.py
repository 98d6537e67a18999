"""Options that commands share, and the files they name."""

import pytest

from coaltree.cli import commands, main


def test_out_has_its_short_form_in_every_command():
    n_seen = 0
    for command in commands.commands.values():
        names = [name for param in command.params for name in param.opts]
        assert len(names) == len(set(names))
        assert [opts for opts in (param.opts for param in command.params) if {"-o", "--out"} & {*opts}] in (
            [],
            [["-o", "--out"]],
        )
        n_seen += "-o" in names
    assert n_seen >= 7


@pytest.mark.parametrize("command", [["info"], ["report"], ["plot", "-o", "x.png"]])
def test_load_posterior_refuses_other_files(command, tmp_path, monkeypatch, only_line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npz").write_text("no")
    assert main([*command, str(tmp_path / "x.npz")]) == 2
    assert "is not a coaltree posterior file" in only_line()
    assert main([*command, str(tmp_path / "absent.npz")]) == 2
    assert "cannot be read" in only_line()
    assert main([*command, str(tmp_path)]) == 2
    assert "posterior.npz" in only_line()
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
