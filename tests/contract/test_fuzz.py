"""Fuzzers: whatever a file or a command holds, it is read or refused in one sentence; no traceback, no nonsense.

The same cases each time in `make test`, and many more in `make verify`.
"""

import shutil
import warnings

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime import archive
from coaltree.cli import main
from coaltree.cli.tables.reading import TableOptions, read_file
from coaltree.model.process.noise import row_variances
from coaltree.posterior.io import archive as files
from tests import hostile


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)
    with warnings.catch_warnings():  # of arrays that turn into other types on their way
        warnings.simplefilter("ignore")
        yield


def refused(work):
    """Whether `work` refuses, which must be in one sentence."""
    said = None
    try:
        work()
    except ct.InputError as error:
        said = str(error)
    assert said is None or ("\n" not in said and len(said) < 700)
    return said is not None


# --- posteriors and checkpoints with valid check sums -----------------------------------------------------------------

# Where an odd value is a good one: what is optional, names, priors and amplitudes, and anything about the run.
FREE = {
    "log_joint", "log_evidence", "labels", "theta", "chain", "columns", "covariance", "noise", "errors", "row_labels",
    "tail_scale", "imputed", "info",
}  # fmt: skip
OPTIONAL = {"X", "used", "fitted", "log_weights"}


def crafted(content):
    """All places with all odd values, but None where there is none."""
    return [
        (place, value)
        for place in hostile.places(content)
        for value in hostile.ODD_VALUES
        if value is not None or hostile.value_at(content, place) is not None
    ]


@pytest.mark.parametrize("part", [pytest.param(1, marks=pytest.mark.slow), 23])
@pytest.mark.parametrize("make", [hostile.small_posterior, hostile.noisy_posterior])
def test_load_of_crafted_posteriors_is_refused_or_works(make, part, tmp_path):
    path = tmp_path / "posterior.npz"
    make().save(path)
    content = archive.read(path, "coaltree posterior", files._VERSION)
    for place, value in crafted(content)[::part]:
        hostile.write(path, "coaltree posterior", files._VERSION, hostile.changed(content, place, value))
        if not refused(lambda: ct.load(path)):
            assert place[0] in FREE or (value is None and place[0] in OPTIONAL), (place, value)
            answers(ct.load(path))


def answers(post):
    """Ask a posterior what people ask; it must not fail."""
    tree = post.mcc_tree()
    assert np.isfinite(post.clade_support(tree)).all()
    assert np.isfinite(post.ess)
    assert post.draws.outlier_score is None or len(post.draws.outlier_score) == len(post.model.table.labels)
    if post.model.covariance is not None and (post.model.noise.level is not None or "noise_level" in post.theta):
        noise = post.model.state_of(post.draws, 0).noise
        assert (row_variances(post.model.noise, noise) >= 0.0).all()
    repr(post)


@pytest.mark.parametrize("part", [pytest.param(1, marks=pytest.mark.slow), 37])
@pytest.mark.parametrize("noisy", [False, True], ids=["plain", "noisy"])
def test_checkpoints_that_are_crafted_are_refused(noisy, part, tmp_path):
    path = tmp_path / "checkpoint.npz"
    hostile.small_checkpoint(path, noisy)
    content = archive.read(path, "coaltree posterior", files._VERSION)
    run = hostile.small_run(noisy, path)
    run.resume()
    assert (run.iteration, run.n_draws) == (3, 2)
    passed = []
    for place, value in crafted(content)[::part]:
        hostile.write(path, "coaltree posterior", files._VERSION, hostile.changed(content, place, value))
        is_right = repr(value) == repr(hostile.value_at(content, place))
        if not is_right and not refused(run.resume):
            passed.append((place, value))
    # Other numbers of the right kind cannot be told from the right ones; they are still trees and states. What the file
    # says of the model is not used.
    generator = {"state", "inc", "has_uint32", "uinteger"}
    numbers = {"times", "noise_level", "accepted", "candidates", "missed", "log_joint", "info"} | generator
    assert {place[-1] for place, _ in passed if place[0] not in FREE | OPTIONAL} <= numbers


# --- mangled bytes ----------------------------------------------------------------------------------------------------


def mangled(whole, rng):
    """Bytes flipped, cut out, doubled or moved."""
    data = bytearray(whole)
    for _ in range(rng.integers(1, 4)):
        at, to = np.sort(rng.integers(0, len(data) + 1, 2))
        to = min(to, at + 40)
        kind = rng.integers(5)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.integers(8)
        elif kind == 1:
            del data[at:to]
        elif kind == 2:
            data[at:at] = data[at:to]
        elif kind == 3:
            data[at:to] = rng.bytes(int(to - at))
        else:
            data = data[: max(at, 1)]
    return bytes(data)


@pytest.mark.parametrize("n_cases", [pytest.param(2500, marks=pytest.mark.slow), 30])
@pytest.mark.parametrize("make", [hostile.small_posterior, hostile.noisy_posterior])
def test_load_of_mangled_posteriors_is_refused_or_the_same(make, n_cases, tmp_path):
    path = tmp_path / "posterior.npz"
    post = make()
    post.save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(n_cases)
    for _ in range(n_cases):
        path.write_bytes(mangled(whole, rng))
        if not refused(lambda: ct.load(path)):
            np.testing.assert_array_equal(ct.load(path).draws.times, post.draws.times)


def mangled_text(texts, pieces, rng):
    """One of some texts with parts of it left out, repeated, or replaced by one of some pieces."""
    text = list(texts[rng.integers(len(texts))])
    for _ in range(rng.integers(1, 5)):
        at, to = np.sort(rng.integers(0, len(text) + 1, 2))
        kind = rng.integers(3)
        text[at : to if kind == 0 else at] = text[at:to] * 2 if kind == 1 else pieces[rng.integers(len(pieces))]
    return "".join(text)


# --- tables -----------------------------------------------------------------------------------------------------------

TABLES = [
    "name,a,b\nanna,1.5,2\nbo,,3\n",
    "name;height\nanna;1,72\nbo;1,8\n",
    "0,1,2\n1.5,2.5,NA\n4,5,6\n",
    '\ufeff"a, b"\tc\n"x ""y"""\t1e5\nz\t-2\n',
    "x y\n1 2\n3 4\n",
]
PIECES = [*',;\t"\n\r |.-+0123456789abé東', "NA", "inf", "1e400", "1_0", "10%", "$1", "True", "\r\n", '""', "9" * 40]


@pytest.mark.parametrize("n_cases", [pytest.param(15_000, marks=pytest.mark.slow), 400])
def test_table_from_mangled_text_is_refused_or_whole(n_cases, tmp_path):
    rng = np.random.default_rng(n_cases)
    path = tmp_path / "x.csv"
    choices = [TableOptions(), TableOptions(header=True), TableOptions(header=False, decimal=",")]
    for _ in range(n_cases):
        path.write_bytes(mangled_text(TABLES, PIECES, rng).encode())
        choice = choices[rng.integers(len(choices))]
        if not refused(lambda choice=choice: read_file(path, choice)):
            found = read_file(path, choice)
            table = found.table
            assert table.values.shape == (len(table.labels), len(table.features))
            assert len(set(table.labels)) == len(table.labels)
            assert not np.isinf(table.values).any()
            assert found.description.count("\n") >= 3
            # no line is swallowed: each is a row, the header, or empty
            lines = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
            assert len(table.labels) >= sum(any(map(str.isalnum, line)) for line in lines) - 1


# --- command lines ----------------------------------------------------------------------------------------------------

PATHS = [
    "a", "a/posterior.npz", "b", "b/posterior.npz", "t.csv", "link.npz", "link.csv", "sd", "sd/clusters.csv", "./a",
    "sd/checkpoint.npz", "sd/report.html", "pipes", "pipe.html", "pipe.png", "folders", "folders/report.html", "..",
    "new", "new/deeper/still", "new.csv", "new.html", "new.png", "new.svg", "new.xyz", "t.csv/x", "a/../t.csv", "-",
    "", " ", "x\0y", "x\ny", "\x1b[31m.html", "\udcff", "x" * 300, "x/" * 3000, "/dev/null", "/dev/full", "/proc", "'",
    "/proc/self/mem", "/proc/x", "/dev/stdin/x", "--", ".", "~", "con", "%s", "$HOME", "\u6771.html",
]  # fmt: skip
COMMANDS = {
    "info": ["in"], "check": ["in"], "report": ["in", "-o"], "plot": ["in", "-o"], "place": ["in", "in", "-o"],
    "compare": ["in", "in", "--heldout", "-o"], "simulate": ["-o"], "fit": ["in", "-o"],
    "explain": ["in", "-o"],
}  # fmt: skip


def random_command(rng):
    """A command with paths of any sort, the first of them often a right one; and the paths that it reads."""
    name = str(rng.choice(list(COMMANDS)))
    given, read = [name], []
    for option in COMMANDS[name]:
        path = str(rng.choice(PATHS))
        if option != "-o":
            path = ("t.csv" if name == "fit" else "a") if len(given) == 1 and rng.random() < 0.7 else path
            read.append(path)
        if option == "in" or rng.random() < 0.8:
            given += [path] if option == "in" else [option, path]
    given += ["--force"] * int(rng.random() < 0.5 and name not in ("info", "check"))
    return given + (["--samples", "2", "--warmup", "1", "--chains", "1"] if name == "fit" else []), read


@pytest.mark.parametrize("n_cases", [pytest.param(400, marks=pytest.mark.slow), 12])
def test_commands_with_any_paths_end_well_and_keep_what_they_read(n_cases, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(n_cases)
    (tmp_path / "here").mkdir()
    hostile.hostile_folder(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    before = hostile.contents(tmp_path)
    ours = {path for path in before if path.suffix == ".npz" and path.parent.name != "sd"}
    assert len(ours) == 3  # and one of them a link
    for _ in range(n_cases):
        given, read = random_command(rng)
        status = main(given)
        said = capsys.readouterr().err
        assert status in (0, 2), (given, said)
        assert "Traceback" not in said and (status == 0 or said.splitlines()[-1].startswith("coaltree: ")), given
        after = hostile.contents(tmp_path)
        is_kept = ours if given[0] != "fit" else ()  # whose folder, posterior and all, --force starts over
        kept = {path for path in before if path in is_kept or any(is_same(path, name) for name in read)}
        assert {path: after.get(path) for path in kept} == {path: before[path] for path in kept}, given
        for path in after.keys() - before.keys():
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for path in [path for path in before if after.get(path) != before[path]]:
            path.write_bytes(before[path])  # which --force was asked to overwrite


def is_same(path, name):
    """Whether a name is that of a file."""
    try:
        return path.samefile(name)
    except (OSError, ValueError):
        return False
