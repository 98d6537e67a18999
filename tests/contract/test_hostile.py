"""One table of what once broke: each case is refused in one sentence that says what to do, and leaves nothing behind.

A case is a function of an empty folder; its words are those of the sentence. `docs/background/reliability.md` lists
what is promised.
"""

import base64
import contextlib
import functools
import inspect
import io
import os
import pickle
import re
import shlex
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from functools import partial
from unittest import mock

import numpy as np
import pandas
import pytest

import coaltree as ct
from coaltree._runtime import archive
from coaltree.cli import main
from coaltree.cli.tables.reading import TableOptions, read_file
from coaltree.model.data.table import read_table
from coaltree.posterior.io import archive as files
from coaltree.report import write_report
from tests import hostile
from tests.fits import quick_fit

POSTERIOR = files._VERSION  # of the format
CASES = []


def case(words):
    """Add a function to the table; it must raise an `InputError` with these words."""

    def add(work):
        CASES.append(pytest.param(work, words, id=work.__name__))
        return work

    return add


def data(n=6, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


# --- arguments --------------------------------------------------------------------------------------------------------


def post():
    return hostile.small_posterior()


@case("is the name of a posterior or a checkpoint; choose another one, such as report.html.")
def report_over_a_posterior(folder):
    path = folder / "posterior.npz"
    post().save(path)
    try:
        write_report(post(), path, force=True)
    finally:
        assert ct.load(path).n == 7
        path.unlink()


# --- posterior files --------------------------------------------------------------------------------------------------

HEADER = {
    "format": "coaltree posterior",
    "version": POSTERIOR,
    "written_by": "0.1.0",
    "content": {"dict": {}},
}


def posterior_with(folder, header, members=(), **options):
    path = hostile.with_members(folder / "posterior.npz", header, dict(members), **options)
    try:
        ct.load(path)
    finally:
        path.unlink()


def header_with(**changes):
    return {**HEADER, **changes}


@case("is damaged and cannot be read")
def content_nested_without_end(folder):
    content = '{"tuple": [' * 20_000 + "1" + "]}" * 20_000
    head = f'{{"format": "coaltree posterior", "version": {POSTERIOR}, "written_by": {{}}, "content": '
    posterior_with(folder, head + content + "}")


@case("is damaged and cannot be read (a member is compressed).")
def posterior_bomb(folder):
    """A thousand times as large in memory as on disk."""
    members = {"times.npy": hostile.npy_header((10**6,)) + bytes(8 * 10**6)}
    posterior_with(folder, HEADER, members, compression=zipfile.ZIP_DEFLATED)


@case("is damaged and cannot be read (")
def array_that_claims_48_gigabytes(folder):
    content = {"dict": {"times": {"array": "times"}}}
    posterior_with(folder, header_with(content=content), {"times.npy": hostile.npy_header((6 * 10**9,)) + bytes(80)})


@case("is damaged and cannot be read (")
def array_of_records(folder):
    rest = dict.fromkeys(("run", "covariance", "transform", "info")) | {"noise": 0.0, "log_weights": None}
    content = {"dict": {"times": {"array": "times"}, "children": {"array": "times"}, **rest}}
    head = hostile.npy_header((1,), [("x", "<f8")])
    posterior_with(folder, header_with(content=content), {"times.npy": head + bytes(8)})


@case("is damaged and cannot be read (")
def members_that_share_their_bytes(folder):
    """A thousand names for one array: read one by one they would fill the memory."""
    path = folder / "posterior.npz"
    hostile.with_members(path, HEADER, {"a.npy": bytes(10_000)})
    whole = path.read_bytes()
    directory = whole.rindex(b"PK\x05\x06")
    at = whole.rindex(b"PK\x01\x02")
    entry, end = whole[at:directory], bytearray(whole[directory:])
    entries = b"".join(entry[:46] + f"{i:05d}"[-5:].encode() for i in range(1000))
    first = whole.index(b"PK\x01\x02")
    struct.pack_into("<HHI", end, 8, 1001, 1001, at - first + len(entries))
    path.write_bytes(whole[:at] + entries + bytes(end))
    try:
        ct.load(path)
    finally:
        path.unlink()


def crafted_posterior(folder, **changes):
    path = folder / "posterior.npz"
    post().save(path)
    content = archive.read(path, "coaltree posterior", POSTERIOR)
    archive.write(path, "coaltree posterior", POSTERIOR, content | changes)
    try:
        ct.load(path)
    finally:
        path.unlink()


# --- checkpoints ------------------------------------------------------------------------------------------------------


def crafted_checkpoint(folder, place, value, version=POSTERIOR):
    path = folder / "checkpoint.npz"
    run = hostile.small_checkpoint(path)
    content = archive.read(path, "coaltree posterior", POSTERIOR)
    archive.write(path, "coaltree posterior", version, hostile.changed(content, place, value))
    try:
        run.resume()
    finally:
        path.unlink()


@case("is damaged and cannot be read (Tree 2 of the posterior is not valid: Merge 0 joins node 1000000, but only nodes")
def checkpoint_with_children_out_of_range(folder):
    """Which was a segmentation fault."""
    children = np.array([[[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]] * 6, np.int32)
    children[2, 0, 0] = 10**6
    crafted_checkpoint(folder, ("children",), children)


@case("is the checkpoint of a run that has not ended; the same fit resumes from it.")
def checkpoint_in_place_of_a_posterior(folder):
    hostile.small_checkpoint(folder / "checkpoint.npz")
    try:
        ct.load(folder / "checkpoint.npz")
    finally:
        (folder / "checkpoint.npz").unlink()


# --- tables -----------------------------------------------------------------------------------------------------------

ASKS = "may be names of columns or a row of data; say which with --header or --no-header."


def array_file(save, content):
    """The bytes of an .npy or .npz file."""
    buffer = io.BytesIO()
    save(buffer, **content) if isinstance(content, dict) else save(buffer, content)
    return buffer.getvalue()


def damaged(content):
    """The bytes with one of them changed, which a check sum finds."""
    return content[:200] + bytes([content[200] ^ 1]) + content[201:]


# Definition levels are counted wrongly: pyarrow ends the process of whoever asks for them.
PARQUET_WITH_WRONG_COUNTS = base64.b85decode(
    "P(e~L6#x}16)Y?j1Qh@k1{DSz00002000040RR910002+KL7v#00000KotZTEHwZa26JO*Wo=;<0ss{XB>)%!VE`5c85|iLCIB22"
    "3K=B^02vqoVHE%t1Qt>jQYHvV92Ec+02KlNJShelCIAEg000(J76c{;7E%BxAaG%Fadl;MEn{$SEn#wUZ+9SeWpZ<AZ*CwmHZCwO"
    "F&P{j0001b0000`K~ga"
)
TABLES = {
    "header_of_numbers": ("x.csv", "0,1,2\n1.5,2.5,3.5\n4.5,5.5,6.5\n", ASKS),
    "years_above_whole_numbers": ("x.csv", "country,2019,2020\nA,5,6\nB,7,8\n", ASKS),
    "doses_above_responses": ("x.csv", "drug,0.1,0.5,1.0,2.0\nA,5,6,4,1\nB,7,8,2,3\n", ASKS),
    "rising_numbers": ("x.csv", "0.1,0.5,1.0,2.0\n5,6,4,1\n7,8,2,3\n", ASKS),
    "thousands_of_per_cent": (
        "x.csv",
        'a,b\n"1,234 %",2\n"2,500 %",3\n',
        "'1,234 %' is not a number; give --decimal ,",
    ),
    "thousands_by_points": (
        "x.csv",
        "a,b\n1.500,2\n2300,3\n",
        "'1.500' is not a number; give --decimal . if the point",
    ),
    "months_or_days": ("x.csv", "a,b\n1.2.2024,2\n3.4.2024,3\n3.4.2024,3\n", "be written like 2024-01-31"),
    "decimal_commas": ("x.csv", "name;height\nanna;1,72\nbo;1,80\n", "'1,72' is not a number; give --decimal ,"),
    "thousands_or_decimals": ("x.csv", 'a,b\n"1,000",2\n"2,500",3\n', "'1,000' is not a number; give --decimal ,"),
    "two_currencies": ("x.csv", "price,x\n$1,1.5\n€2,2.5\n", "column 'price': '$1' is not a number"),
    "wrong_per_cent": ("x.csv", "share,x\n10%,1.5\n20%%,2.5\n", "column 'share': '10%' is not a number"),
    "true_or_perhaps": (
        "x.csv",
        "is_red,x\nTrue,1.5\nmaybe,2.5\n7,1\n8,1\n9,1\n",
        "'True' is not a number; correct it",
    ),
    "quote_that_swallows_rows": ("x.csv", 'name,x\na,1\n"b,3\nc,5\n"d,7\ne,9\n', "line 3: a cell has a line break"),
    "quote_that_is_never_closed": ("x.csv", 'name,x,y\na,1,p\nc,3,"r\nd,4,s\n', "not a readable .csv file ("),
    "quote_in_the_header": ("x.csv", '"name,x\na,1\n",y\nc,3\n', "line 1: a cell has a line break"),
    "npz_with_a_bad_check_sum": ("x.npz", damaged(array_file(np.savez, {"X": np.eye(9)})), "(Bad CRC-32 for file"),
    "npz_of_objects": ("x.npz", array_file(np.savez, {"X": np.array([{}])}), "Object arrays cannot be loaded"),
    "npz_of_words": ("x.npz", array_file(np.savez, {"X": np.array("no")}), "not an array of shape () and type <U2."),
    "npy_that_claims_48_gigabytes": ("x.npy", hostile.npy_header((2 * 10**9, 3)) + bytes(100), "not a readable .npy"),
    "npy_with_a_damaged_header": ("x.npy", hostile.npy_header((2, 2))[:30] + b"(" * 90, "not a readable .npy file ("),
    "npy_with_a_negative_shape": ("x.npy", hostile.npy_header((-1, 3)) + bytes(24), "not a readable .npy file ("),
    "parquet_that_is_damaged": ("x.parquet", b"PAR1" + bytes(50) + b"PAR1", "not a readable .parquet file ("),
    "parquet_with_wrong_counts": ("x.parquet", PARQUET_WITH_WRONG_COUNTS, "not a readable .parquet file ("),
    "excel_that_is_damaged": ("x.xlsx", b"PK\x03\x04" + bytes(50), "not a readable .xlsx file ("),
    "a_posterior": ("x.npz", None, "this is a posterior or a checkpoint of coaltree, not a table of data."),
}


def table_file(folder, name, content):
    path = folder / name
    if content is None:
        post().save(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        read_file(path, TableOptions())
    finally:
        path.unlink()


for table_case, (name, content, words) in TABLES.items():
    work = functools.partial(table_file, name=name, content=content)
    work.__name__ = f"table_with_{table_case}"
    case(words)(work)


@case("cannot be read: it is no regular file.")
def a_pipe_that_never_begins(folder):
    path = folder / "pipe.csv"
    os.mkfifo(path)
    try:
        read_file(path, TableOptions())
    finally:
        path.unlink()


# --- before the first iteration ---------------------------------------------------------------------------------------


@case("column(s) 'x' of X hold str, not numbers; drop or encode them.")
def two_columns_of_one_name_of_which_one_is_text(folder):
    frame = pandas.DataFrame({"y": ["p", "q"], "x": [1.0, 2.0]})
    frame.columns = ["x", "x"]
    ct.fit(frame)


@case("X is a dask DataFrame, which is not in memory; give X.compute().")
def a_table_of_dask(folder):
    names = {"__module__": "dask.dataframe.dask_expr", "columns": ["a"], "index": None, "compute": None}
    fake = type("DataFrame", (), names)
    ct.fit(fake())


@case("Posterior 1 has another table than the first; only draws of one model can be joined.")
def concat_of_two_tables(folder):
    X = np.arange(21.0).reshape(7, 3)
    ct.concat([hostile.random_posterior(1, X=X), hostile.random_posterior(1, X=X + 1.0)])


class Strange:
    """A transformer that returns what it is told to, or raises it."""

    def __init__(self, found):
        self.found = found

    def get_params(self, deep=True):
        return {"found": self.found}

    def fit_transform(self, values):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    transform = fit_transform


@case(
    "3 chains of 1000000000 trees would need 816.0 GB of memory and 20.0 GB are available; lower n_samples or n_chain"
)
def a_billion_samples(folder):
    with mock.patch("coaltree._runtime.memory.available_bytes", return_value=20 * 10**9):
        ct.fit(data(), "spherical", n_chains=3, n_samples=10**9, n_warmup=1)


TOO_LARGE = "the values of X are too large, or differ too little, for their variances; rescale X."


@case(TOO_LARGE)
def one_huge_entry_under_full(folder):
    """Which dropped its column as a linear function of others."""
    X = data(40)
    X[3, 1] = 1e160
    ct.fit(X, "full")


# --- the table --------------------------------------------------------------------------------------------------------


# Cases of one call with an empty folder.
CALLS = [
    (
        "tree must be a Tree, such as post.mcc_tree(), not str.",
        lambda folder: post().clade_support("((a:1,b:1):1,c:2);"),
    ),
    ("tree must be a Tree, such as post.mcc_tree(), not NoneType.", lambda folder: post().node_times(None)),
    (
        "tree must be a Tree, such as post.mcc_tree(), not ConsensusTree.",
        lambda folder: post().clade_support(post().consensus()),
    ),
    (
        "a must be a Tree, such as post.mcc_tree(), not list.",
        lambda folder: ct.tree_distance([[0, 1]], post().mcc_tree()),
    ),
    ("b must be a Tree, such as post.mcc_tree(), not int.", lambda folder: ct.tree_distance(post().mcc_tree(), 3)),
    (
        "n_chains must be a whole number from 1 to 10000, not 1000000000000000000000000000000.",
        lambda folder: ct.fit(data(), n_chains=10**30),
    ),
    ("n_chains must be a whole number from 1 to 10000, not 1000000000.", lambda folder: ct.fit(data(), n_chains=10**9)),
    ("n_samples must be a whole number from 1 to 1000000000, not 1", lambda folder: ct.fit(data(), n_samples=10**400)),
    ("2 chains of 1000000000 trees would need ", lambda folder: ct.fit(data(), n_samples=10**9)),
    (
        "1000000000 trees over 6 rows would need 80.0 GB of memory",
        lambda folder: ct.sample_trees(data(), n_samples=10**9),
    ),
    (
        "n_samples must be a whole number from 1 to 1000000000, not 1000",
        lambda folder: ct.sample_trees(data(), n_samples=10**400),
    ),
    (
        "n_particles must be a whole number from 1 to 1000000000, not 9223372036854775808.",
        lambda folder: ct.sample_trees(data(), sampler=ct.MPost2(n_particles=2**63)),
    ),
    ("1000000000 rows of 3 columns would need 372.0 GB of memory", lambda folder: ct.simulate(10**9, 3)),
    (
        "an int from 0 to 2**1024 - 1, a numpy.random.Generator or None, not 0x",
        lambda folder: ct.fit(data(), random_state=10**5000),
    ),
    ("path must be a path, such as 'tree/posterior.npz', not 3.", lambda folder: ct.load(3)),
    ("path must be a path, such as 'tree/posterior.npz', not None.", lambda folder: ct.load(None)),
    ("path must be a path, such as 'tree/posterior.npz', not b'x'.", lambda folder: ct.load(b"x")),
    ("path must be a path, such as 'tree/posterior.npz', not 'a\\x00b'.", lambda folder: ct.load("a\0b")),
    ("it is a folder or a device; choose another path.", lambda folder: post().save("/dev/null")),
    ("it is a folder or a device; choose another path.", lambda folder: post().save(folder)),
    (
        "checkpoint must be a path, such as ",
        lambda folder: ct.fit(data(), checkpoint="a\0b"),
    ),
    (": File name too long.", lambda folder: ct.fit(data(), checkpoint=folder / ("x" * 300))),
    ("cannot write /proc/x: ", lambda folder: ct.fit(data(), checkpoint="/proc/x")),
    ("path must be a path, such as 'tree/posterior.npz', not 'a\\x00b'.", lambda folder: write_report(post(), "a\0b")),
    (
        "is damaged and cannot be read ('version').",
        lambda folder: posterior_with(folder, {"format": "coaltree posterior"}),
    ),
    (
        f"in format 99, and this version reads format {POSTERIOR}.",
        lambda folder: posterior_with(folder, header_with(version=99)),
    ),
    (
        "was written by coaltree \\x1b[31m in format 99",
        lambda folder: posterior_with(folder, header_with(version=99, written_by="\x1b[31m")),
    ),
    (
        f"in format -3, and this version reads format {POSTERIOR}.",
        lambda folder: posterior_with(folder, header_with(version=-3)),
    ),
    (
        "is damaged and cannot be read",
        lambda folder: posterior_with(folder, '{"format": "coaltree posterior", "content": ' + "[" * 100_000),
    ),
    ("is not a coaltree posterior file.", lambda folder: posterior_with(folder, "[]")),
    ("is damaged and cannot be read ('run').", lambda folder: posterior_with(folder, HEADER)),
    (
        "is damaged and cannot be read (covariance is not one).",
        lambda folder: crafted_posterior(folder, covariance={"__class__": "Regraft", "fields": {}}),
    ),
    (
        "is damaged and cannot be read",
        lambda folder: crafted_posterior(folder, covariance={"__class__": "Matern32", "fields": {"grid": (2, 2)}}),
    ),
    (
        "is damaged and cannot be read (neighbors has wrong type, shape or values).",
        lambda folder: crafted_checkpoint(folder, ("run", "neighbors", "1"), np.full((1, 6, 4), 10**6, np.int32)),
    ),
    (
        "is damaged and cannot be read (theta['noise_level'] must hold a positive number for each of the 6 trees.).",
        lambda folder: crafted_checkpoint(folder, ("theta", "noise_level"), np.zeros(6)),
    ),
    (
        "belongs to another version of coaltree, whose draws may differ; delete it, or give another path.",
        lambda folder: crafted_checkpoint(folder, ("run", "coaltree"), "0.0.1"),
    ),
    (
        f"in format 1, and this version reads format {POSTERIOR}.",
        lambda folder: crafted_checkpoint(folder, ("run", "seed"), 0, version=1),
    ),
    (
        "belongs to other data or settings; delete it, or give another path.",
        lambda folder: crafted_checkpoint(folder, ("run", "fingerprint"), "x"),
    ),
    (
        "row 2 of X has an empty name; give it one, or reset the index.",
        lambda folder: ct.fit(pandas.DataFrame(data(), index=["a", "b", "", "d", "e", "f"])),
    ),
    (
        "the index of X has the name 'a' twice; make it unique, reset the index, or give groups=X.index",
        lambda folder: ct.fit(pandas.DataFrame(data(), index=["a", "b", "a", "d", "e", "f"])),
    ),
    (
        "errors must be positive numbers, from 1e-70 to 1e70.",
        lambda folder: ct.fit(data(), errors=np.full(6, 1e-200)),
    ),
    (
        "errors must be positive numbers, from 1e-70 to 1e70.",
        lambda folder: ct.fit(data(), errors=np.full(6, 1e300)),
    ),
    (
        "errors must be positive numbers, from 1e-70 to 1e70.",
        lambda folder: ct.fit(data(), errors=np.full(6, 1 + 1j)),
    ),
    (
        'noise must be "learn", "student", a number from 0 to 1e150 or a Noise, not 1e+300.',
        lambda folder: ct.fit(data(), noise=1e300),
    ),
    (
        "n_jobs must be a whole number other than 0 (-1: every processor), or None, not 0.",
        lambda folder: ct.fit(data(), n_jobs=0),
    ),
    (
        "has half of a surrogate pair, which no file can hold.",
        lambda folder: ct.fit(pandas.DataFrame(data(), pandas.Index([*"abcde", "\ud800"], dtype=object))),
    ),
    (
        "the name of column 'x\\udc80' has half of a surrogate pair",
        lambda folder: ct.sample_trees(
            pandas.DataFrame(data(), columns=pandas.Index(["u", "v", "x\udc80"], dtype=object))
        ),
    ),
    (
        "the name of group '\\ud800' has half of a surrogate pair",
        lambda folder: ct.fit(data(), groups=["a", "a", "b", "b", "c", "\ud800"]),
    ),
    (
        "random_state must be an int from 0 to 2**1024 - 1, a numpy.random.Generator or None, not SeedSequence(",
        lambda folder: ct.fit(data(), random_state=np.random.SeedSequence(1)),
    ),
    (
        "transform: Strange cannot take these rows: Cannot cast array data from dtype('complex128')",
        lambda folder: ct.fit(data(), transform=Strange(data() + 1j)),
    ),
    (
        "transform: Strange cannot take these rows: no.",
        lambda folder: ct.fit(data(), transform=Strange(ZeroDivisionError("no.\n"))),
    ),
    (
        "transform: Strange must return one row of finite numbers for each row.",
        lambda folder: ct.fit(data(), transform=Strange(data()[:3])),
    ),
    ("path must be a path, such as 'tree/posterior.npz', not ''.", lambda folder: post().save("")),
    ("checkpoint must be a path, such as 'tree/posterior.npz', not ''.", lambda folder: ct.fit(data(), checkpoint="")),
    (TOO_LARGE, lambda folder: ct.fit(data(40) * [1, 1e200, 1])),
    (
        "every column of X is constant, but for rounding, so nothing tells its rows apart; check the table.",
        lambda folder: ct.fit(data(40) + 1e15),
    ),
]

# --- names, masks and models ------------------------------------------------------------------------------------------


def named(n=6):
    return pandas.DataFrame(data(n), [*"abcdef"], [*"uvw"])


def short_fit(X=None, covariance="spherical", **options):
    """A posterior of few draws, whose chains have not converged."""
    return quick_fit(named() if X is None else X, covariance, sampler="regraft", n_samples=2, n_chains=1, **options)


def masked(values, *where):
    values = np.ma.masked_array(values)
    values[where] = np.ma.masked
    return values


def joined(one, other, **options):
    return ct.concat([short_fit(covariance=one), short_fit(covariance=other, **options)])


def one_per_row(index):
    return pandas.Series([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], [*index])


LINKAGE = [[0, 1, 1.0, 2], [2, 3, 2.0, 3], [4, 5, 3.0, 6], [6, 7, 4.0, 5], [8, 9, 5.0, 11]]
OTHER_NAMES = named().set_axis([*"uvx"], axis=1)
CONSTANT = named().assign(w=1.0)
TWICE = pandas.DataFrame(data(), [*"abcdef"], ["u", "u", "w"])
NAMES = [
    ("column", lambda folder: short_fit().place(TWICE)),
    ("groups", lambda folder: short_fit(groups=one_per_row("abcdez"))),
    ("errors", lambda folder: short_fit(errors=one_per_row("abcdez"))),
    ("X", lambda folder: short_fit(list(masked(data(), 2, 1)))),
    ("errors", lambda folder: short_fit(errors=masked(np.ones(6), 3))),
    ("groups", lambda folder: short_fit(groups=masked(np.arange(6) // 2, 3))),
    ("labels", lambda folder: short_fit().membership(masked(np.arange(6) // 2, 3))),
    ("covariance", lambda folder: short_fit(covariance=masked(np.eye(3), 1, 1))),
    ("covariance", lambda folder: ct.simulate(6, 3, covariance=masked(np.eye(3), 1, 1))),
    ("linkage", lambda folder: ct.Tree.from_linkage(masked(LINKAGE, 1, 2))),
    ("mask", lambda folder: short_fit().support([0, 1, 1, 0, 0, 0])),
    ("mask", lambda folder: short_fit().support(masked([True, True, False, False, False, False], 1))),
    ("twice", lambda folder: short_fit().support([0, 1, 1])),
    ("twice", lambda folder: short_fit().support(["a", "b", "b"])),
    ("other covariance than the first", lambda folder: joined(np.eye(3), 2.0 * np.eye(3))),
    (
        "other covariance than the first",
        lambda folder: joined(*(ct.SquaredExponential(inputs=[0, 1, x]) for x in (2, 3))),
    ),
    (
        "other covariance than the first",
        lambda folder: joined(ct.Diagonal(), ct.Diagonal(priors={"variances": ct.InverseGamma(5.0, 2.0)})),
    ),
    (
        "another table than the first",
        lambda folder: joined("spherical", "spherical", X=named().set_axis([*"uvx"], axis=1)),
    ),
    ("hold str", lambda folder: ct.fit(pandas.DataFrame({f"column {i}": ["x"] * 5 for i in range(800)}))),
    ("X", lambda folder: ct.fit(pandas.DataFrame)),
    ("X", lambda folder: ct.sample_trees(pandas.DataFrame)),
    ("missing values", lambda folder: short_fit().membership([0, 1, np.nan, 0, 1, 0])),
    ("none of this index", lambda folder: short_fit()[[99]]),
    ("index", lambda folder: short_fit()[np.ma.masked_array([0, 1], [False, True])]),
    ("in its model", lambda folder: ct.compare({"a": short_fit(), "b": short_fit(CONSTANT, "scaled")}, named())),
    ("the same column", lambda folder: short_fit(np.exp(data()), transform=ct.Preprocessor(log=True, log1p=[0]))),
]
CASES += [pytest.param(work, words, id=words[:50]) for words, work in CALLS]
CASES += [pytest.param(work, words, id=f"names {i} {words}") for i, (words, work) in enumerate(NAMES)]


@pytest.mark.parametrize(("work", "words"), CASES)
def test_hostile_input_is_refused_in_one_sentence_and_leaves_nothing(work, words, tmp_path):
    with pytest.raises(ct.InputError) as caught:
        work(tmp_path)
    said = str(caught.value)
    assert words in said
    assert "\n" not in said
    assert said.endswith(".")
    assert len(said) < 700
    assert not any(tmp_path.iterdir())


def test_values_by_row_follow_the_names_of_rows():
    """A Series in another order is put into that of the rows."""
    values = one_per_row("abcdef")
    for name in ("groups", "errors"):
        posts = [short_fit(**{name: order}) for order in (values, values[::-1], values.tolist())]
        for post in posts[1:]:
            np.testing.assert_array_equal(getattr(post.model.leaves, name), getattr(posts[0].model.leaves, name))
            np.testing.assert_array_equal(post.draws.times, posts[0].draws.times)
    X = named()
    X.index = np.array([2**63 + i for i in range(6)], np.uint64)
    post = short_fit(X)
    labels = pandas.Series(range(6), X.index) // 2
    np.testing.assert_array_equal(post.membership(labels[::-1]), post.membership(labels))


def test_masked_values_are_missing():
    X = masked(data(), 2, 1)
    np.testing.assert_array_equal(
        short_fit(transform=Strange(X)).model.X, short_fit(transform=Strange(np.ma.filled(X, np.nan))).model.X
    )
    assert np.argwhere(np.isnan(short_fit(X).model.X)).tolist() == [[2, 1]]
    post = short_fit(data())
    assert post.place(X).log_density[2] == post.place(np.where(X.mask, np.nan, X.data)).log_density[2]


# Arguments that people hand over by mistake.
STRANGE = [
    pandas.DataFrame, object(), b"x", "", {}, {1}, lambda: 0, np.zeros((2, 2, 2)), 1j, [[]], np.array("x"),
    pandas.Series(["x"] * 7), np.ma.masked, float("nan"), pandas.NA, pandas.NaT, 10**400, -1, [None] * 7, ["x"] * 7,
    np.arange(7) * 1j, np.datetime64("2020"), [1, [2]], type, None, 2.5, pandas.DataFrame(np.eye(7)), range(7),
    np.zeros(7, "M8[D]"), ct.Tree, ct.Spherical(), [["a", "b"]], np.array([(1, 2.0)], "i4, f8"), iter([]),
]  # fmt: skip


def doors():
    """Whatever takes an argument, by name: functions of that argument."""
    post = post_with_noise()
    tree, X, few = post.mcc_tree(), np.asarray(post.model.X), {"n_samples": 1, "n_warmup": 0, "n_chains": 1}
    functions = {
        f"fit {name}": lambda value, name=name: quick_fit(X, **(few | {name: value}))
        for name in inspect.signature(ct.fit).parameters if name not in ("X", "progress")
    }  # fmt: skip
    functions["fit progress"] = lambda value: callable(value) or quick_fit(X, **few, progress=value)  # its own errors
    functions |= {name: getattr(post, name) for name in (
        "support", "stability", "membership", "cut", "explain", "place", "clade_support", "node_times", "coclustering",
        "suggest_n_clusters", "thin", "__getitem__", "consensus",
    )}  # fmt: skip
    functions |= {
        f"metrics.{name}": partial(getattr(ct.metrics, name), tree) for name in ("ari_curve", "dendrogram_purity")
    }
    return functions | {
        "fit X": lambda value: quick_fit(value, **few), "sample_trees": ct.sample_trees, "load": ct.load,
        "cut time": lambda value: post.cut(time=value), "check": lambda value: post.check(n_trees=value),
        "place classes": lambda value: post.place(X[:2], classes=value), "loo": lambda value: post.loo(n_draws=value),
        "concat": ct.concat, "concat part": lambda value: ct.concat([post, value]), "compare": ct.compare,
        "compare X_heldout": lambda value: ct.compare({"a": post}, value),
        "simulate n": lambda value: ct.simulate(value, 3), "simulate d": lambda value: ct.simulate(3, value),
        "simulate Phi": lambda value: ct.simulate(3, 2, covariance=value),
        "newick": ct.Tree.from_newick, "linkage": ct.Tree.from_linkage, "children": lambda value: ct.Tree(value, [1.0]),
        "times": lambda value: ct.Tree([[0, 1]], value), "distance": lambda value: ct.tree_distance(tree, value),
        "agreement": lambda value: ct.metrics.agreement(value, [0] * 7), "tree cut": tree.cut,
        "likelihood X": lambda value: tree.log_likelihood(value, np.eye(3)),
        "likelihood Phi": lambda value: tree.log_likelihood(X, value),
    }  # fmt: skip


def post_with_noise():
    return hostile.random_posterior(
        1, X=np.arange(21.0).reshape(7, 3), covariance=ct.Diagonal().adapt(data()), noise=0.1,
        theta={"variances": np.ones((12, 3))},
    )  # fmt: skip


DOORS = doors()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", DOORS)
def test_strange_arguments_are_taken_or_refused_in_one_sentence(door):
    for value in STRANGE:
        try:
            DOORS[door](value)
        except ct.InputError as error:
            said = str(error)
            assert "\n" not in said and said.endswith(".") and len(said) < 700, value


class Executed:
    """Whose unpickling would leave a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize(
    "read",
    [ct.load, lambda path: read_file(path, TableOptions())],
    ids=["posterior", "table"],
)
@pytest.mark.parametrize("name", ["X", "data"])
@pytest.mark.parametrize("suffix", ["npz", "npy", "pkl"])
def test_files_with_a_pickle_are_read_and_nothing_is_executed(suffix, name, read, tmp_path):
    mark, path = tmp_path / "executed", tmp_path / f"x.{suffix}"
    array = np.array([Executed(mark)], dtype=object)
    if suffix == "npz":
        np.savez(path, **{name: array})
    elif suffix == "npy":
        np.save(path, array, allow_pickle=True)
    else:
        path.write_bytes(pickle.dumps(array))
    with contextlib.suppress(ct.InputError):  # a member that is not needed is not read
        read(path)
    assert not mark.exists()
    pickle.loads(pickle.dumps(array))[0].close()  # negative control
    assert mark.exists()


def test_load_of_a_posterior_takes_no_more_memory_than_its_file(tmp_path):
    """The same large array under many names is read once."""
    name = "x" * 10
    array = hostile.npy_header((125_000,)) + bytes(1_000_000)
    content = {"dict": {f"field {i}": {"array": name} for i in range(1000)}}
    path = hostile.with_members(tmp_path / "p.npz", {**HEADER, "content": content}, {f"{name}.npy": array})
    found = archive.read(path, "coaltree posterior", POSTERIOR)
    assert len({id(value) for value in found.values()}) == 1
    assert zlib.crc32(found["field 7"].tobytes()) == zlib.crc32(bytes(1_000_000))


# --- commands ---------------------------------------------------------------------------------------------------------

OVERWRITES = "is an input of this command, and would be overwritten; choose another -o."
ARCHIVE = "is the name of a posterior or checkpoint; choose another -o."
SPECIAL = "it is a folder or a device; choose another path."
LONG = "x" * 300
COMMANDS = [
    ("report a -o a/posterior.npz", ARCHIVE),
    ("report a -o b/posterior.npz", ARCHIVE),
    ("report a -o link.npz", ARCHIVE),
    ("place a t.csv -o t.csv", OVERWRITES),
    ("place a t.csv -o b/posterior.npz", ARCHIVE),
    ("plot link.npz -o a/posterior.npz", ARCHIVE),
    ("explain a -o a/posterior.npz", ARCHIVE),
    ("explain a -o pipe.html", SPECIAL),
    ("fit sd/clusters.csv -o sd", OVERWRITES),
    ("fit link.csv -o sd", OVERWRITES),
    ("fit sd/checkpoint.npz -o sd", OVERWRITES),
    ("fit t.csv -o pipes", f"tree.png: {SPECIAL}"),
    ("fit t.csv -o folders", f"report.html: {SPECIAL}"),
    ("plot a -o pipe.png", SPECIAL),
    ("simulate -o pipes", SPECIAL),
    ("report a -o /dev/full", SPECIAL),
    ("fit t.csv -o out --samples 1000000001", "is not auto or a whole number from 1 to 1000000000."),
    ("fit t.csv -o out --samples 1000000000", "2 chains of 1000000000 trees would need "),
    ("fit t.csv -o out --chains 1000000000", "1000000000 is not in the range 1<=x<=10000."),
    ("fit t.csv -o out --noise 1e300", "'1e300' is not student, learn or a number from 0 to 1e+150."),
    ("simulate -o out --n 1000000000", "1000000000 rows of 8 columns would need "),
    ("fit t.csv -o ''", "'' is no path."),
    ("fit '' -o out", "'' is no path."),
    (f"fit t.csv -o {LONG}", "is no path."),
    (f"plot a -o {LONG}.png", "is no path."),
    (f"info {LONG}", "is no path."),
    ("info a\0b", "is no path."),
    (f"info {'x/' * 3000}", ": File name too long."),
    (f"report {'x/' * 3000}", ": File name too long."),
    ("plot a -o /proc/x.png", "cannot write /proc/x.png: "),
    ("report a -o /proc/x.html", "cannot write /proc/x.html: "),
    ("fit t.csv -o /proc/x", "coaltree: /proc/x: "),
]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(("command", "words"), COMMANDS, ids=[command[:40] for command, _ in COMMANDS])
def test_commands_refuse_to_destroy_files_and_paths_that_are_none(command, words, force, tmp_path, monkeypatch, capsys):
    hostile.hostile_folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = hostile.contents(tmp_path)
    arguments = shlex.split(command) + (["--force"] if force and not command.startswith("info") else [])
    assert main(arguments) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert words in message or (not force and "already exists" in message)
    assert hostile.contents(tmp_path) == before


# --- control characters -----------------------------------------------------------------------------------------------

EVIL = ["\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "a\rb", "a\x08b", "\u202eabc", "x\ny"]
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")


def evil_posterior(path):
    """Control characters in every text that a posterior holds."""
    evil = "\x1b[31mred\x07\nverdict  all is well"
    info = dict.fromkeys(("seed", "sampler", "n_warmup", "left_out", "ties", "covariance_choice"), evil)
    found = hostile.random_posterior(
        1, labels=EVIL, theta={f"t{evil}": np.linspace(1, 2, 12)}, X=np.arange(21.0).reshape(7, 3), columns=EVIL[:3],
        covariance=ct.Diagonal().adapt(np.arange(21.0).reshape(7, 3)), info=info,
    )  # fmt: skip
    found.save(path)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
@pytest.mark.parametrize(
    "command", ["info {0}", "info {0} --group a,b", "check {0}", "compare {0} {1}", "place {0} {2}"]
)
def test_commands_print_no_control_characters_of_a_posterior(command, tmp_path, capsys, monkeypatch):
    paths = [tmp_path / "one.npz", tmp_path / "two.npz", tmp_path / "rows.csv"]
    for path in paths[:2]:
        evil_posterior(path)
    pandas.DataFrame(data(2), EVIL[:2], EVIL[:3]).to_csv(paths[2], index_label="name")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    status = main(shlex.split(command.format(*paths)))
    said = "".join(capsys.readouterr())
    assert status in (0, 2) and said.strip()
    assert not UNPRINTABLE.search(said)
    assert "\nverdict  all is well" not in said


def test_warnings_that_are_errors_and_odd_terminals_cost_no_result(tmp_path, monkeypatch, capfd):
    path = tmp_path / "posterior.npz"
    mine = hostile.random_posterior(1, labels=["naïve", *"bcdefg"], info={"mine": object()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mine.save(path)
        assert "cannot be saved; only its description is" in capfd.readouterr().err
        assert ct.load(path).labels == mine.labels
        monkeypatch.setenv("MPLBACKEND", "module://that_is_not_there")
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
        assert main(["info", str(path)]) == 0
    assert os.environ["MPLBACKEND"] == "agg"
    print("naïve")  # as the table of `place` is
    sys.stdout.flush()
    assert b"na\\xefve" in sys.stdout.detach().getvalue()


def test_leave_one_out_refuses_python_without_docstrings():
    smooth = (
        "import numpy as np; from coaltree.posterior.predictive.loo import _smoothed as s; s(np.zeros((1, 9)), 1.0)"
    )
    run = subprocess.run([sys.executable, "-OO", "-c", smooth], capture_output=True, text=True, check=False)
    assert "InputError: leave-one-out needs ArviZ" in run.stderr


@pytest.mark.parametrize("where", ["header", "cell", "file"])
def test_commands_print_no_control_characters_of_a_table(where, tmp_path, capsys):
    evil = "\x1b[31mred\x07"
    path = tmp_path / (f"{evil}.csv" if where == "file" else "x.csv")
    path.write_text(f"name,{evil},{evil}\na,1,2\n" if where == "header" else f"name,x\na,{evil}\nb,2\n")
    assert main(["fit", str(path), "-o", str(tmp_path / "out")]) == 2
    said = "".join(capsys.readouterr())
    assert not UNPRINTABLE.search(said)
    assert "\\x1b[31mred\\x07" in said


def test_a_table_of_pyarrow_keeps_its_names():
    """Its columns were once named by their contents."""
    table = pytest.importorskip("pyarrow").table({"a": [1.0, 2.0, 4.0], "b": [3.0, 5.0, 1.0]})
    assert read_table(table).features == ("a", "b")
