"""`coaltree report`."""

from coaltree.cli import main


def test_report_is_written_beside_the_posterior_or_as_given(folder, tmp_path, capsys, only_line):
    assert main(["report", str(folder), "--title", "A <title>"]) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    assert "A &lt;title&gt;" in (folder / "report.html").read_text(encoding="utf-8")
    assert main(["report", str(folder / "posterior.npz")]) == 2
    assert "overwrite it with --force" in only_line()
    assert main(["report", str(folder), "--force", "--clusters", "3"]) == 0
    (folder / "report.html").unlink()
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").exists()
    assert main(["report", str(folder), "-o", str(tmp_path / "no" / "page.html")]) == 2
    assert "No such file or directory" in capsys.readouterr().err
