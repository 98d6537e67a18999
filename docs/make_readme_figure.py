"""The picture at the top of README and of the site: ``python docs/make_readme_figure.py`` writes docs/tree.png.

It also prints how many flowers of each species are in each cluster.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

import coaltree as ct

iris = load_iris(as_frame=True)
post = ct.fit(iris.data, n_samples=400, random_state=0, progress=False)
labels = post.cut(n_clusters=3)
stability = post.stability(labels)

for cluster, word in enumerate(stability.words):
    inside = np.bincount(iris.target[labels == cluster], minlength=3)
    species = ", ".join(f"{number} {iris.target_names[c]}" for c, number in enumerate(inside) if number)
    print(f"cluster {cluster + 1}: {species}; {word}, {stability.jaccard[cluster]:.2f}")

figure = Figure(figsize=(8, 5), layout="constrained")
species = {"species": iris.target_names[iris.target]}
ct.plotting.dendrogram(
    post, figure.add_subplot(), intervals=False, n_clusters=3, labels=False, max_leaves=None, row_colors=species
)
figure.savefig(Path(__file__).parent / "tree.png", dpi=130)
