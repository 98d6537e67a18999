"""The picture at the top of README and of the site: ``python docs/make_readme_figure.py`` writes docs/tree.png."""

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_iris

import coaltree as ct

iris = load_iris(as_frame=True)
flowers = iris.data[2::7]
species = iris.target_names[iris.target[2::7]]
flowers.index = [f"{name} {i}" for i, name in zip(flowers.index, species, strict=True)]

post = ct.fit(flowers, covariance="diagonal", n_samples=1000, random_state=0, progress=False)
figure = Figure(figsize=(8, 4.6), layout="constrained")
ct.plotting.dendrogram(
    post.mcc_tree(), figure.add_subplot(), support=post, intervals=post, n_clusters=3, time_scale="sqrt"
)
figure.savefig(Path(__file__).parent / "tree.png", dpi=130)
