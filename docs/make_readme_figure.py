"""The picture at the top of README and of the site: ``python docs/make_readme_figure.py`` writes docs/tree.png.

It also prints how many flowers of each species are in each cluster.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.datasets import load_iris

import coaltree as ct
from coaltree.plotting.style import color_of, legend_line

iris = load_iris(as_frame=True)
post = ct.fit(iris.data, n_samples=400, random_state=0, progress=False)
labels = post.cut(n_clusters=3)
stability = post.stability(labels)

figure = Figure(figsize=(8, 5), layout="constrained")
axes = figure.add_subplot()
handles = []
for cluster, word in enumerate(stability.words):
    inside = np.bincount(iris.target[labels == cluster], minlength=3)
    species = ", ".join(f"{number} {iris.target_names[c]}" for c, number in enumerate(inside) if number)
    print(f"cluster {cluster + 1}: {species}; {word}, {stability.jaccard[cluster]:.2f}")
    name = f"cluster {cluster + 1}, {word} ({species})"
    handles.append(Line2D([], [], color=color_of(cluster), lw=2, label=name))
ct.plotting.dendrogram(
    post.mean_tree(),
    axes,
    support=post,
    n_clusters=3,
    labels=False,
    max_leaves=None,
    legend=[legend_line("clusters", handles)],
)
figure.savefig(Path(__file__).parent / "tree.png", dpi=130)
