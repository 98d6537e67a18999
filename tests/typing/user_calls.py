"""Calls as users write them, for the type checker alone: `make check` reads this file, nothing runs it.

The lines that end in an ignore are mistakes that the checker must see: were one accepted, its ignore would be
unnecessary, which is an error too (`reportUnnecessaryTypeIgnoreComment`).
"""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import pandas as pd

import coaltree as ct

X = np.zeros((10, 3))
frame = pd.DataFrame(X, columns=["a", "b", "c"])

# What the verbs take and return
post = ct.fit(X)
assert_type(post, ct.Posterior)
assert_type(ct.fit(frame, "diagonal", "regraft", n_samples=100, n_chains=4, random_state=0), ct.Posterior)
assert_type(ct.fit([[1.0, 2.0], [3.0, 4.0]], ct.Full(), random_state=np.random.default_rng(0)), ct.Posterior)
assert_type(ct.fit(X, np.eye(3), ct.Regraft(n_neighbors=4), progress=lambda done, total: None), ct.Posterior)
ct.fit(X, start=post, checkpoint=Path("run.checkpoint"), progress=False)
ct.fit(X, n_samples="auto", n_warmup="auto", max_seconds=60)
ct.CoalescentClustering(n_samples="auto", max_seconds=1.5)
assert_type(ct.sample_trees(X, ct.Spherical(), ct.MPost2(n_particles=100)), ct.Posterior)
values, truth = ct.simulate(8, 2, ct.SquaredExponential(length2=1.0, noise=1e-3), random_state=1)
assert_type(values, np.ndarray)
assert_type(truth, ct.Tree)
ct.fit(X, ct.Diagonal(priors={"variances": ct.InverseGamma(2.0, 1.0)}, learn=("variances",)))

# A posterior
assert_type(post.trees[0], ct.Tree)
assert_type(post.cut(3), np.ndarray)
assert_type(post.membership(post.cut(3)), np.ndarray)
assert_type(post.explain(post.cut(3)), pd.DataFrame)
post.explain(["a", "b"], level=0.8)
assert_type(post.stability(["a", "b"], level=0.5).words, tuple[str, ...])
assert_type(post.clade_support(post.mean_tree(), kind="transfer"), np.ndarray)
assert_type(post.support(["a", "b"]).wanders_in, dict[str, float])
assert_type(post.draws.children, np.ndarray)
assert_type(post.model.columns, tuple[str, ...] | None)
assert_type(post.log_evidence, float | None)
assert_type(post.theta["amplitude"], np.ndarray)
assert_type(post.suggest_n_clusters().n_clusters, int)
assert_type(post.consensus(0.7).to_newick(), str)
assert_type(post[100:].thin(2), ct.Posterior)
assert_type(ct.concat([post, post]), ct.Posterior)
post.save("posterior.npz")
post.to_nexus(Path("trees.nex"), max_trees=None)
assert_type(post.to_newick(), str)
assert_type(ct.load("posterior.npz"), ct.Posterior)

# New rows
placed = post.place(frame, classes=post.cut(3), n_trees=50, random_state=None)
assert_type(placed.log_density, np.ndarray)
assert_type(placed.nearest_clades(0), list[tuple[float, tuple[str, ...]]])
comparison = ct.compare({"spherical": post, "full": ct.fit(X, "full")}, X)
assert_type(comparison.difference, np.ndarray)

# A tree
tree = post.mcc_tree()
assert_type(tree.cut(3), np.ndarray)
assert_type(tree.labels, tuple[str, ...])
assert_type(tree.log_likelihood(X, ct.Fixed(np.eye(3))), float)
assert_type(ct.Tree.from_linkage(tree.to_linkage()), ct.Tree)
assert_type(ct.Tree.from_newick("(a:1,b:1);").clades(), list[frozenset[str]])
assert_type(ct.tree_distance(tree, truth, "branch_score"), float)
tree.plot(support=post).set_title("wines")

# Measures, pictures, the page
assert_type(ct.metrics.time_errors(post, truth).mse, float)
ct.plotting.dendrogram(tree, clusters=post.cut(3), intervals=post, support=False).set_xlabel("time")
ct.plotting.clustermap(post, z_score=1, cmap="vlag")
assert_type(ct.report.write_report(post, "report.html", force=True), Path)

# scikit-learn
model = ct.CoalescentClustering(n_clusters=3, random_state=0).fit(frame)
assert_type(model, ct.CoalescentClustering)
assert_type(model.predict(frame), np.ndarray)
assert_type(model.posterior_.info, dict[str, Any])

# Mistakes
ct.fit(X, n_samples="many")  # pyright: ignore[reportArgumentType]
ct.fit(X, n_sample=100)  # pyright: ignore[reportCallIssue]
ct.fit(X, random_state="0")  # pyright: ignore[reportArgumentType]
ct.fit(X, sampler=ct.Spherical())  # pyright: ignore[reportArgumentType]
ct.fit(X, ct.Regraft())  # pyright: ignore[reportArgumentType]
post.place(X, trees=50)  # pyright: ignore[reportCallIssue]
post.support(3)  # pyright: ignore[reportArgumentType]
post.times = X  # pyright: ignore[reportAttributeAccessIssue]
post.n_leaves  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
ct.archive  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
ct.Posterior(X)  # pyright: ignore[reportCallIssue]
ct.load(3)  # pyright: ignore[reportArgumentType]
