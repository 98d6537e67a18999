"""Options that commands share, and the files they name."""

import pytest

from coaltree.cli import commands, main


def test_out_has_its_short_form_in_every_command():
    n_seen = 0
    for command in commands.commands.values():
        names = [name for param in command.params for name in param.opts]
        assert len(names) == len(set(names))
        assert [param.opts for param in command.params if "-o" in param.opts or "--out" in param.opts] in (
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


def test_output_folder_is_overwritten_only_with_force(tmp_path, capsys, only_line):
    (tmp_path / "notes.txt").write_text("mine")
    args = ["simulate", "--n", "4", "--d", "2", "--out", str(tmp_path)]
    assert main(args) == 0
    before = (tmp_path / "data.csv").read_bytes()
    capsys.readouterr()
    assert main([*args, "--seed", "1"]) == 2
    assert "--force" in only_line()
    assert (tmp_path / "data.csv").read_bytes() == before
    assert main([*args, "--seed", "1", "--force"]) == 0
    assert (tmp_path / "data.csv").read_bytes() != before
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_output_folder_refuses_a_file(tmp_path, only_line):
    (tmp_path / "file").write_text("")
    assert main(["simulate", "--out", str(tmp_path / "file")]) == 2
    assert "is a file" in only_line()
    assert main(["simulate", "--out", str(tmp_path / "file" / "below")]) == 2
    assert "choose another --out" in only_line()
