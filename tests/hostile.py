"""Files made to harm: archives with a valid check sum and crafted content, and the run that a checkpoint belongs to."""

import json
import os
import zipfile

import numpy as np
import pandas
from scipy import sparse

import coaltree as ct
from coaltree._runtime import archive
from coaltree.inference.chains.chain import advance, begin
from coaltree.inference.control.run import Run
from coaltree.model.covariance import Diagonal
from coaltree.model.model import Model
from coaltree.model.process.noise import Noise
from tests.posteriors import random_posterior

ODD_VALUES = [
    None, True, -1, 10**30, 2.5, float("nan"), float("-inf"), "x", "", [], {}, ["x", 3], {"x": None}, (1, 2),
    np.empty(0), np.zeros(3), np.full((2, 2), np.nan), np.full((5, 2), 10**6), np.full((5, 2), -7),
    np.zeros((5, 2), np.int64), np.full((1, 6, 3), 99, np.int32), np.array(["x"] * 6), np.zeros((2, 5, 2), bool),
    np.zeros(5, ">f8"), np.zeros(5, complex), np.ones((2, 5)), np.full(2, np.inf), np.full((2, 5, 2), 2**31 - 1),
]  # fmt: skip
"""What no field of a checkpoint or posterior of six leaves and two draws is, whatever its name."""


def small_posterior(**extra):
    """A posterior with every field there is, but for those of noise."""
    X = np.arange(21.0).reshape(7, 3)
    X[2, 1] = np.nan
    return random_posterior(
        1,
        labels=list("abcdefg"),
        theta={"amplitude": np.linspace(1, 2, 12), "variances": np.ones((12, 3))},
        chain=np.arange(12) // 6,
        log_evidence=-12.5,
        X=X,
        columns=["u", "v", "w"],
        imputed=np.zeros((12, 1)),
        covariance=ct.Diagonal().adapt(X),
        used=[0, 1, 2],
        fitted=X + 0.1,
        info={"seed": 1, "sampler": "Regraft()", "n_warmup": 3},
        **extra,
    )


def noisy_posterior():
    """A posterior with the fields that noise has: nine rows of seven leaves, with errors and heavy tails."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(9, 3))
    return random_posterior(
        1,
        labels=list("abcdefg"),
        theta={"noise_level": np.linspace(0.1, 0.2, 12), "variances": np.ones((12, 3))},
        X=X,
        covariance=ct.Diagonal().adapt(X),
        noise=Noise(tails="student"),
        errors=np.linspace(0.5, 2.0, 9),
        groups=[0, 0, 1, 2, 3, 4, 5, 6, 6],
        row_labels=[f"row {i}" for i in range(9)],
        tail_scale=rng.gamma(2.0, size=(12, 9)),
    )


def small_run(noisy=False, path=None):
    """A run of two chains, Regraft with local candidates over six leaves with missing entries, and no iteration taken.

    The noise is learnt; a `noisy` run has heavy tails, errors and eight rows.
    """
    X = np.random.default_rng(0).normal(size=(8 if noisy else 6, 3))
    X[1, 2] = X[4, 0] = np.nan
    more = {"errors": np.linspace(0.5, 2.0, 8), "groups": [0, 0, 1, 2, 3, 4, 5, 5]} if noisy else {}
    noise = Noise(tails="student") if noisy else Noise()
    model = Model.of(X, Diagonal(), noise, **more)
    sampler = ct.Regraft(candidates="local", n_neighbors=2)
    return Run(model, sampler, n_samples=4, n_warmup=1, random_state=0, checkpoint=path)


def small_checkpoint(path, noisy=False):
    """Leave a checkpoint of `small_run` after three iterations, two of them kept; return the run."""
    run = small_run(noisy, path)
    begun = [begin(run.of_chains, run.sampler, seed) for seed in np.random.SeedSequence(0).spawn(2)]
    ends = [advance(run.of_chains, chain, 3, n_warmup=1) for chain in begun]
    run.chains, draws = zip(*ends, strict=True)
    run.blocks = tuple((one,) for one in draws)
    run.save(finished=True)
    return run


def places(content, at=()):
    """The place of every value in nested dicts and lists, as tuples of keys."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*at, key)
        yield from places(value, (*at, key))


def write(path, kind, version, content):
    """Write an archive with arrays of kinds that `archive.write` refuses to save."""
    saved = archive._ARRAY_KINDS
    archive._ARRAY_KINDS = saved + "c"
    try:
        archive.write(path, kind, version, content)
    finally:
        archive._ARRAY_KINDS = saved


def changed(content, place, value):
    """A copy of nested dicts and lists with another value in one place."""
    if not place:
        return value
    copy = content.copy()
    copy[place[0]] = changed(content[place[0]], place[1:], value)
    return copy


def value_at(content, place):
    for key in place:
        content = content[key]
    return content


def with_members(path, header, members, compression=zipfile.ZIP_STORED):
    """A zip file with any header and any bytes for members."""
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("header.json", header if isinstance(header, str | bytes) else json.dumps(header))
        for name, data in members.items():
            file.writestr(name, data)
    return path


def npy_header(shape, descr="<f8"):
    """The head of a .npy file that claims anything."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def hostile_folder(folder):
    """Posteriors, tables, links, pipes and folders where files should be."""
    rng = np.random.default_rng(0)
    for name in ("a", "b", "sd", "pipes", "folders"):
        (folder / name).mkdir()
    for name in ("a", "b"):
        small_posterior().save(folder / name / "posterior.npz")
    table = pandas.DataFrame(rng.normal(size=(9, 3)), columns=["u", "v", "w"])
    for name in ("t.csv", "sd/clusters.csv"):
        table.to_csv(folder / name, index=False)
    np.savez(folder / "sd" / "checkpoint.npz", X=rng.normal(size=(6, 3)))
    sparse.save_npz(folder / "near.npz", sparse.csr_array(1.0 - np.eye(9)))
    (folder / "near.npz").rename(folder / "sd" / "report.html")
    (folder / "link.npz").symlink_to(folder / "a" / "posterior.npz")
    os.link(folder / "sd" / "clusters.csv", folder / "link.csv")
    for name in ("pipe.html", "pipe.png", "pipes/tree.png", "pipes/data.csv"):
        os.mkfifo(folder / name)
    (folder / "folders" / "report.html").mkdir()


def contents(folder):
    """Every path of a folder, and the bytes of those that are files."""
    return {path: path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}
