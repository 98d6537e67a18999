"""A few plots look as they did: compared with stored pictures, pixel by pixel, within a tolerance.

`python -m tests.contract.test_pictures` draws the stored pictures again; look at them before they are committed.

The tolerance is a root mean square of the difference of colours, 0 to 255. Measured: 0 where the same releases of
Matplotlib and FreeType draw again, and 27 to 39 for others (3.9.4 beside 3.11.2), whose letters differ by a pixel. No
tolerance would tell that from a change of ours, so pictures by other releases are not compared. The smallest change
that a reader would notice, clusters without their numbers, is 2.5 to 4.4; a cluster in another colour is 11 to 18.
"""

import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import ft2font
from matplotlib import pyplot as plt
from matplotlib.testing.compare import compare_images
from PIL import Image

from coaltree import Posterior, plotting
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import ward_posterior
from tests.strategies import random_tree

STORED = Path(__file__).parent / "pictures"
TOLERANCE = 1.0
DRAWN_BY = f"Matplotlib {mpl.__version__}, FreeType {ft2font.__freetype_version__}"  # kept in the pictures
MAX_BYTES = 200_000  # of all pictures


def posterior() -> Posterior:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((10, 4)) + 7 * center for center in np.eye(4)[:3]])
    trees = [ward_posterior(X + 0.5 * rng.standard_normal(X.shape)) for _ in range(8)]
    children = np.concatenate([one.draws.children for one in trees])
    times = np.concatenate([one.draws.times for one in trees])
    return posterior_of_trees(children, times, labels=[f"leaf {i}" for i in range(30)], X=X)


KIND = {"kind": ["one", "two", "three"] * 10, "size": np.linspace(0.0, 5.3, 30)}


def draw(name: str, n_clusters: int = 3) -> plt.Figure:
    """Draw one of the pictures."""
    post = posterior()
    tree = post.mean_tree()
    if name == "tree":
        ax = plotting.dendrogram(tree, support=post, n_clusters=n_clusters, row_colors=KIND)
    elif name == "folded":
        ax = plotting.dendrogram(random_tree(400, np.random.default_rng(0)), n_clusters=3 * n_clusters)
    elif name == "densitree":
        ax = plotting.densitree(post, n_clusters=n_clusters)
    elif name == "coclustering":
        ax = plotting.coclustering(post, n_clusters=n_clusters)
    else:
        return plotting.clustermap(post, row_colors=KIND, n_clusters=n_clusters, figsize=(5, 6)).figure
    return ax.figure


PICTURES = ("tree", "folded", "densitree", "coclustering", "clustermap")


def save(name: str, path: Path, **settings: int) -> None:
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mpl.rcdefaults()
        mpl.use("Agg")
        draw(name, **settings).savefig(path, dpi=40, metadata={"Software": DRAWN_BY})
        plt.close("all")


def compared(name: str, folder: Path, **settings: int) -> str | None:
    """What is different, None if nothing is."""
    with Image.open(STORED / f"{name}.png") as stored:
        drawn_by = stored.text["Software"]
    if drawn_by != DRAWN_BY:
        pytest.skip(f"the stored picture is by {drawn_by}, this is {DRAWN_BY}")
    save(name, folder / f"{name}.png", **settings)
    return compare_images(str(STORED / f"{name}.png"), str(folder / f"{name}.png"), tol=TOLERANCE)


@pytest.mark.parametrize("name", PICTURES)
def test_picture_looks_as_it_did(name, tmp_path):
    difference = compared(name, tmp_path)
    assert difference is None, difference


@pytest.mark.parametrize("name", PICTURES)
def test_picture_of_other_clusters_looks_different(name, tmp_path):
    assert compared(name, tmp_path, n_clusters=2) is not None


def test_stored_pictures_are_small_and_all_are_compared():
    files = sorted(STORED.glob("*.png"))
    assert {path.stem for path in files if not path.stem.endswith("-failed-diff")} == set(PICTURES)
    assert sum(path.stat().st_size for path in files) <= MAX_BYTES


if __name__ == "__main__":
    STORED.mkdir(exist_ok=True)
    for name in PICTURES:
        save(name, STORED / f"{name}.png")
