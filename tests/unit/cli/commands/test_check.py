"""`coaltree check`."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("mix", [0.97, 0.0])
def test_check_is_named_by_fit_where_supports_are_too_high(tmp_path, capsys, blank_pages, mix):
    X, _ = ct.simulate(60, 5, random_state=0)
    np.save(tmp_path / "data.npy", mix * X[:, :1] + (1.0 - mix) * X[:, 1:])
    how = ["--samples", "20", "--warmup", "15", "--chains", "1", "--covariance", "scaled", "--clusters", "2"]
    assert main(["fit", str(tmp_path / "data.npy"), "--out", str(tmp_path / "out"), *how]) == 0
    lines = capsys.readouterr().out.splitlines()
    named = [line for line in lines if "coaltree check" in line]
    if mix == 0.0:
        assert named == []
        return
    (line,) = named
    assert line == lines[-1]
    assert line.startswith("Supports are likely to be too high (correlation): columns vary together along the tree")
    assert line.endswith(f" Try --covariance full. All checks: coaltree check {tmp_path / 'out'}")
    assert main(["check", str(tmp_path / "out")]) == 0
    assert "→ try --covariance full" in capsys.readouterr().out
