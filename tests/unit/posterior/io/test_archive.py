"""Files and other programs: everything comes back, and DendroPy, SciPy and ArviZ see what we see."""

import sys

import dendropy
import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, dendrogram, fcluster
from scipy.spatial.distance import squareform

import coaltree as ct
from coaltree._runtime import archive
from coaltree.posterior.io import archive as io
from tests.posteriors import grouped_posterior, random_posterior

LABELS = ["a", "b b", "it's", "x_1", "[y]", "7", "gamma-γ"]


def full_posterior(covariance=None, **extra):
    return random_posterior(
        1,
        labels=LABELS,
        theta={"amplitude": np.linspace(1, 2, 12), "variances": np.ones((12, 3))},
        chain=np.arange(12) // 6,
        log_evidence=-12.5,
        X=np.arange(21.0).reshape(7, 3),
        covariance=covariance,
        noise=0.25,
        **extra,
    )


def assert_same(a, b):
    for name in ("children", "times", "log_weights", "weights", "chain", "log_joint", "X"):
        found, expected = getattr(a, name), getattr(b, name)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    for name in ("labels", "log_evidence", "noise", "columns", "is_chain"):
        assert getattr(a, name) == getattr(b, name)
    assert a.theta.keys() == b.theta.keys()
    for name in a.theta:
        np.testing.assert_array_equal(a.theta[name], b.theta[name])


def test_a_saved_posterior_comes_back(tmp_path):
    post = full_posterior(info={"seconds": 1.5, "accepted": np.array([0.5, 0.7])}, columns=["u", "v", "w"])
    post.save(tmp_path / "post.ct")
    again = ct.load(tmp_path / "post.ct")
    assert_same(again, post)
    assert again.columns == ("u", "v", "w")
    assert again.info["seconds"] == 1.5
    np.testing.assert_array_equal(again.info["accepted"], [0.5, 0.7])
    assert again.mcc_tree() == post.mcc_tree()
    assert_same(ct.load(str(tmp_path / "post.ct")), post)


def test_parts_and_bare_posteriors_come_back(tmp_path):
    bare = ct.Posterior([[[0, 1]]], [[1.0]])
    bare.save(tmp_path / "bare")
    again = ct.load(tmp_path / "bare")
    assert again.trees[0] == bare.trees[0]
    assert again.log_joint is again.X is again.covariance is again.log_evidence is None
    assert not again.is_chain
    part = full_posterior()[3:9]
    part.save(tmp_path / "part")
    assert_same(ct.load(tmp_path / "part"), part)


def test_missing_entries_come_back(tmp_path):
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]])
    children, times = [[[0, 1], [2, 3]]] * 2, [[1.0, 2.0]] * 2
    post = ct.Posterior(children, times, X=X, imputed=[[0.1, 0.2], [0.3, 0.4]])
    post.save(tmp_path / "post.ct")
    again = ct.load(tmp_path / "post.ct")
    np.testing.assert_array_equal(again.completed(1), [[1.0, 0.3], [0.4, 2.0], [3.0, 4.0]])


def test_mapped_posteriors_answer_alike(tmp_path, monkeypatch):
    monkeypatch.setattr("coaltree._runtime.archive._MAPPED_FROM_BYTES", 100)
    post = full_posterior()
    post.save(tmp_path / "post.ct")
    again = ct.load(tmp_path / "post.ct")
    assert_same(again, post)
    assert again.mcc_tree() == post.mcc_tree()
    np.testing.assert_array_equal(again.cut(n_clusters=3), post.cut(n_clusters=3))
    again.save(tmp_path / "post.ct")  # over the file it is mapped from
    assert_same(ct.load(tmp_path / "post.ct"), post)


def kernels():
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    return [
        ct.Fixed(np.diag([1.0, 2.0, 3.0])),
        ct.Spherical(amplitude=2.0, priors={"amplitude": ct.InverseGamma(2.0, 3.0)}),
        ct.Diagonal([1.0, 2.0, 3.0], learn=("variances",)),
        ct.SquaredExponential(2.0, 0.5, inputs=[0.0, 1.0, 3.0], priors={"length2": ct.LogNormal(1.0, 2.0)}),
        ct.Kernel(RBF(0.7, (0.1, 10.0)) + ConstantKernel(0.1, "fixed") * WhiteKernel(0.3), learn="amplitude"),
    ]


@pytest.mark.parametrize("covariance", kernels(), ids=lambda c: type(c).__name__)
def test_covariances_come_back(tmp_path, covariance):
    covariance = covariance.adapt(np.random.default_rng(0).normal(size=(7, 3)))
    full_posterior(covariance).save(tmp_path / "post.ct")
    again = ct.load(tmp_path / "post.ct").covariance
    assert type(again) is type(covariance)
    np.testing.assert_array_equal(again.matrix(3), covariance.matrix(3))
    assert again.learnt == covariance.learnt
    assert again.log_prior() == covariance.log_prior()


def test_what_cannot_be_saved_is_said(tmp_path):
    class Strange:
        pass

    with pytest.warns(ct.CoaltreeWarning, match=r"info\.x is a Strange"):
        full_posterior(info={"x": Strange(), "y": 1}).save(tmp_path / "post.ct")
    again = ct.load(tmp_path / "post.ct")
    assert again.info["y"] == 1
    assert "Strange" in again.info["x"]
    with pytest.warns(ct.CoaltreeWarning, match="covariance is a Strange"):
        full_posterior(Strange()).save(tmp_path / "post.ct")
    assert ct.load(tmp_path / "post.ct").covariance is None


def test_only_our_own_values_are_made(tmp_path):
    for name in ("Posterior", "os", "simulate", "sklearn np", "sklearn clone"):
        with pytest.raises((ValueError, AttributeError, TypeError)):
            io._revived({"__class__": name, "fields": {}})


def test_wrong_files_are_one_sentence(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ct.InputError, match=r"data\.csv' is not a coaltree posterior file\.$"):
        ct.load(tmp_path / "data.csv")
    full_posterior().save(tmp_path / "post.ct")
    whole = (tmp_path / "post.ct").read_bytes()
    (tmp_path / "post.ct").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ct.InputError, match="is damaged"):
        ct.load(tmp_path / "post.ct")


def test_arrays_that_are_no_trees_are_refused(tmp_path, monkeypatch):
    """A file that is whole, but whose numbers would lead kernels astray."""
    post = full_posterior()
    wrong = post.children.copy()
    wrong[3, 0, 0] = 10**6
    vars(post)["children"] = wrong
    post.save(tmp_path / "post.ct")
    with pytest.raises(ct.InputError, match=r"is damaged .*Tree 3"):
        ct.load(tmp_path / "post.ct")


# Other programs


def test_dendropy_reads_newick_of_one_tree_and_of_a_consensus():
    post = random_posterior(10, labels=LABELS)
    tree = post.mcc_tree()
    read = dendropy.Tree.get(data=tree.to_newick(), schema="newick", rooting="force-rooted", preserve_underscores=True)
    assert {frozenset(leaf.taxon.label for leaf in node.leaf_iter()) for node in read.internal_nodes()} == set(
        tree.clades()
    )
    consensus = post.consensus()
    assert not consensus.is_binary
    read = dendropy.Tree.get(
        data=consensus.to_newick(), schema="newick", rooting="force-rooted", preserve_underscores=True
    )
    read.calc_node_ages()
    found = {
        frozenset(leaf.taxon.label for leaf in node.leaf_iter()): (float(node.label), node.age)
        for node in read.internal_nodes()
    }
    assert found.keys() == set(consensus.clades())
    for clade, support, time in zip(consensus.clades(), consensus.support, consensus.times, strict=True):
        assert found[clade] == pytest.approx((support, time), rel=1e-5)
    bare = dendropy.Tree.get(data=consensus.to_newick(support=False), schema="newick")
    assert all(node.label is None for node in bare.internal_nodes())


def test_scipy_takes_our_linkage():
    post = random_posterior(5, n=30)
    tree = post.mcc_tree()
    Z = tree.to_linkage()
    drawn = dendrogram(Z, no_plot=True)
    assert sorted(drawn["leaves"]) == list(range(30))
    np.testing.assert_allclose(squareform(cophenet(Z)), tree.cophenetic())
    time = float(np.median(tree.times))
    for labels, ours in [
        (fcluster(Z, 5, "maxclust"), tree.cut(5, min_size=1)),
        (fcluster(Z, time, "distance"), tree.cut(time=time)),
    ]:
        assert len(set(zip(labels.tolist(), ours.tolist(), strict=True))) == len(set(ours.tolist())) == len(set(labels))


def test_arviz_summarises_our_draws():
    az = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    post = random_posterior(
        2, n_trees=400, weighted=False, chain=np.repeat([0, 1], 200), theta={"ell": rng.normal(3, 1, 400)}
    )
    data = post.to_arviz()
    summary = az.summary(data, var_names=["ell", "root_time"])
    assert float(summary.loc["ell", "mean"]) == pytest.approx(post.theta["ell"].mean(), abs=0.01)
    root_times = np.array([tree.times[-1] for tree in post.trees])
    assert float(summary.loc["root_time", "mean"]) == pytest.approx(root_times.mean(), abs=0.01)
    assert float(summary.loc["ell", "ess_bulk"]) > 200
    assert data.posterior["ell"].shape == (2, 200)
    np.testing.assert_array_equal(data.sample_stats["lp"].values.ravel(), post.log_joint)
    tree = post.trees[5]
    lengths = [tree.node_times[p] - tree.node_times[c] for c, p in enumerate(tree.parents) if p >= 0]
    assert float(data.posterior["tree_length"][0, 5]) == pytest.approx(sum(lengths))


def test_arviz_gets_weighted_draws_as_repeats():
    pytest.importorskip("arviz")
    weights = np.array([0.5, 0.0, 0.25, 0.25])
    with np.errstate(divide="ignore"):
        post = ct.Posterior([[[0, 1]]] * 4, [[1.0], [2.0], [3.0], [4.0]], log_weights=np.log(weights))
    with pytest.warns(ct.CoaltreeWarning, match="no weighted draws"):
        data = post.to_arviz()
    assert data.posterior["root_time"].values.tolist() == [[1.0, 1.0, 3.0, 4.0]]


def test_arviz_chains_of_unequal_length_are_cut():
    pytest.importorskip("arviz")
    post = ct.Posterior([[[0, 1]]] * 5, np.arange(1.0, 6.0)[:, None], chain=[0, 0, 0, 1, 1])
    assert post.to_arviz().posterior["root_time"].values.tolist() == [[2.0, 3.0], [4.0, 5.0]]


def test_without_arviz_there_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ct.InputError) as caught:
        ct.Posterior([[[0, 1]]], [[1.0]]).to_arviz()
    assert str(caught.value) == 'to_arviz() needs ArviZ, which is not installed: pip install "coaltree[arviz]".'


def test_arviz_gets_the_noise():
    pytest.importorskip("arviz")
    post = grouped_posterior()
    data = post.to_arviz()
    assert data.posterior["noise_level"].shape == (2, 6) and "tail_scale" not in data.posterior
    scales = post.to_arviz(tail_scale=True).posterior["tail_scale"]
    assert scales.dims == ("chain", "draw", "row")
    np.testing.assert_array_equal(scales.sel(row="row 1", chain=1), post.tail_scale[post.chain == 1, 1])
    with pytest.raises(ct.InputError, match="no Student tails"):
        random_posterior(0, weighted=False).to_arviz(tail_scale=True)


def test_a_file_of_format_1_is_read(tmp_path):
    """Before the noise was learnt, a posterior had one number, `leaf_noise`, and rows were leaves."""
    post = full_posterior(ct.Spherical(amplitude=2.0))
    content = {
        name: getattr(post, name)
        for name in ("children", "times", "log_weights", "log_joint", "log_evidence", "theta", "chain", "X", "imputed")
    }
    content |= {"labels": LABELS, "columns": None, "leaf_noise": 0.25, "info": {"seed": 3}}
    content["covariance"] = post.covariance
    archive.write(tmp_path / "old", io._KIND, 1, content, default=io._plain)
    again = ct.load(tmp_path / "old")
    assert_same(again, post)
    assert again.noise == ct.Noise(0.25) and again.groups is None and again.tail_scale is None
    assert again.row_labels == tuple(LABELS) and again.info == {"seed": 3}
    np.testing.assert_array_equal(again.place(post.X[:2] + 0.1).log_density, post.place(post.X[:2] + 0.1).log_density)
