"""Draw every plot for tables of many kinds, to look at before and after a change of `coaltree.plotting`.

    python docs/make_pictures.py FOLDER [TABLE …] [--kind KIND …]

The posteriors are kept in FOLDER and read from there the next time; delete them to fit again.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import coaltree as ct


class Example(NamedTuple):
    """A table, and the labels of its rows."""

    data: pd.DataFrame
    labels: pd.DataFrame | None


def _groups(sizes: dict[Any, int], centers: Any, spread: Any, names: list[str], seed: int) -> tuple[pd.DataFrame, list]:
    rng = np.random.default_rng(seed)
    parts = [c + rng.standard_normal((m, len(names))) * spread for c, m in zip(centers, sizes.values(), strict=True)]
    keys = [key for key, m in sizes.items() for _ in range(m)]
    return pd.DataFrame(np.concatenate(parts), [f"row {i}" for i in range(len(keys))], names), keys


def iris() -> Example:
    from sklearn.datasets import load_iris

    table = load_iris(as_frame=True)
    index = pd.Index([f"iris {i}" for i in range(150)])
    species = pd.Series(table.target_names[table.target], index, name="species")
    return Example(table.data.set_index(index), species.to_frame())


def penguins() -> Example:
    """Simulate 333 birds of three species and both sexes, as Palmer's penguins are."""
    means = {"Adelie": (38.8, 18.3, 190, 3700), "Chinstrap": (48.8, 18.4, 196, 3730), "Gentoo": (47.5, 15.0, 217, 5080)}
    by_sex = np.array([1.7, 0.75, 2.5, 330])
    count = {"Adelie": 73, "Chinstrap": 34, "Gentoo": 60}
    sizes = {(s, x): count[s] for s in means for x in ("female", "male")}
    centers = [np.array(means[s]) + (by_sex if x == "male" else -by_sex) for s, x in sizes]
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    data, keys = _groups(sizes, centers, np.array([2.2, 0.8, 5.5, 290]), columns, 1)
    rng = np.random.default_rng(2)
    island = ["Biscoe" if s == "Gentoo" or rng.random() < 0.4 else "Dream" for s, _ in keys]
    labels = pd.DataFrame(keys, data.index, ["species", "sex"]).assign(island=island)
    data.iloc[[3, 200], [0, 2]] = np.nan
    return Example(data, labels)


def crabs() -> Example:
    """Simulate 200 crabs: one size, five measures of it, two colours and two sexes that differ a little."""
    rng = np.random.default_rng(3)
    keys = [(s, x) for s in ("blue", "orange") for x in ("female", "male") for _ in range(50)]
    size = rng.normal(0, 0.22, 200)
    shape = np.array([[0.0, 0.08, -0.02, -0.02, 0.0], [0.08, -0.1, -0.02, -0.02, 0.03]])
    logs = np.log([15.6, 12.7, 32.1, 36.4, 14.0]) + size[:, None] + rng.normal(0, 0.02, (200, 5))
    logs += np.array([shape[0] * (x == "female") + shape[1] * (s == "orange") for s, x in keys])
    columns = ["frontal_lobe", "rear_width", "carapace_length", "carapace_width", "body_depth"]
    data = pd.DataFrame(np.exp(logs), [f"crab {i}" for i in range(200)], columns)
    return Example(data, pd.DataFrame(keys, data.index, ["colour", "sex"]))


def thousand() -> Example:
    centers = np.random.default_rng(4).normal(0, 4, (6, 8))
    data, keys = _groups(
        dict(zip("ABCDEF", [300, 250, 200, 150, 80, 20], strict=True)), centers, 1.0, list("pqrstuvw"), 5
    )
    return Example(data, pd.DataFrame({"kind": keys}, data.index))


def one() -> Example:
    data, _ = _groups({"a": 60}, [np.zeros(4)], 1.0, list("pqrs"), 6)
    return Example(data, None)


def twelve() -> Example:
    centers = np.random.default_rng(7).normal(0, 8, (12, 6))
    data, keys = _groups({f"type {k + 1}": 10 for k in range(12)}, centers, 1.0, [f"marker {j}" for j in range(6)], 8)
    return Example(data, pd.DataFrame({"type": keys}, data.index))


def long_names() -> Example:
    centers = np.random.default_rng(9).normal(0, 5, (3, 6))
    names = [f"concentration of metabolite {j} in plasma (mmol/l)" for j in range(6)]
    kinds = {f"a treatment with a rather long name, number {k + 1}": 9 for k in range(3)}
    data, keys = _groups(kinds, centers, 1.0, names, 10)
    data.index = [f"patient {i:03d}, second visit, morning sample, laboratory {i % 4}" for i in range(27)]
    return Example(data, pd.DataFrame({"treatment group of the patient": keys}, data.index))


TABLES: dict[str, Callable[[], Example]] = {
    "iris": iris, "penguins": penguins, "crabs": crabs, "thousand": thousand, "one": one, "twelve": twelve,
    "long_names": long_names,
}  # fmt: skip


def posterior_of(name: str, example: Example, folder: Path) -> ct.Posterior:
    """Return the posterior that the folder keeps, or fit one."""
    path = folder / f"{name}.npz"
    if path.exists():
        return ct.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        post = ct.fit(example.data, n_samples=60, n_warmup=60, random_state=0, progress=False)
    if example.labels is not None:
        post.info["label_columns"] = {name: list(example.labels[name].astype(str)) for name in example.labels}
    post.save(path)
    return post


def _of_library(plot: Callable[[ct.Posterior, Example, int], Any]) -> Callable[..., None]:
    def save(post: ct.Posterior, example: Example, k: int, path: Path) -> None:
        made = plot(post, example, k)
        figure = getattr(made, "figure", None) or np.ravel(made)[0].figure
        figure.savefig(path, dpi=100)

    return save


def _dendrogram(post: ct.Posterior, example: Example, k: int, **settings: Any) -> Any:
    clusters = {"n_clusters": k} if k > 1 else {}
    settings = {"support": post, "row_colors": example.labels, **clusters, **settings}
    return ct.plotting.dendrogram(post.mean_tree(), **settings)


def _clustermap(post: ct.Posterior, example: Example, k: int) -> Any:
    return ct.plotting.clustermap(post, n_clusters=k, row_colors=example.labels, z_score=1, cmap="vlag")


KINDS: dict[str, Callable[..., None]] = {
    "tree": _of_library(lambda p, e, k: ct.plotting.dendrogram(p, n_clusters=k if k > 1 else None)),
    "dendrogram": _of_library(lambda p, e, k: _dendrogram(p, e, k, intervals=p)),
    "upright": _of_library(lambda p, e, k: _dendrogram(p, e, k, orientation="top")),
    "densitree": _of_library(lambda p, e, k: ct.plotting.densitree(p, n_clusters=k if k > 1 else None)),
    "n_clusters": _of_library(lambda p, e, k: ct.plotting.n_clusters(p)),
    "coclustering": _of_library(lambda p, e, k: ct.plotting.coclustering(p, n_clusters=max(k, 2))),
    "clustermap": _of_library(_clustermap),
    "convergence": _of_library(lambda p, e, k: ct.plotting.convergence(p)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--kind", nargs="+", choices=list(KINDS), default=list(KINDS))
    arguments = parser.parse_args()
    mpl.use("Agg")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.tables or TABLES:
        example = TABLES[name]()
        post = posterior_of(name, example, arguments.folder)
        k = post.suggest_n_clusters().n_clusters
        for kind in arguments.kind:
            path = arguments.folder / f"{name}-{kind}.png"
            KINDS[kind](post, example, k, path)
            plt.close("all")
            print(path, flush=True)


if __name__ == "__main__":
    main()
