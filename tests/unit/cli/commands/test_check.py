"""`coaltree check`."""

import coaltree as ct
from coaltree.cli import main


def test_check_prints_the_checks_of_the_posterior(folder, capsys):
    assert main(["check", str(folder)]) == 0
    out = capsys.readouterr().out
    checks = ct.load(folder / "posterior.npz").check()
    assert out == checks.to_text(options=True) + "\n"
    table = out.split("\n\n")[1].splitlines()[1:]
    assert [line.split("  ")[0] for line in table if line[:1].strip()] == [one.name for one in checks]
    assert main(["check", str(folder / "posterior.npz")]) == 0
    assert capsys.readouterr().out == out
