"""Does a refactoring leave results as they were, bit for bit? No benchmark: ``make bench`` does not run it.

    python -m benchmarks.same_bits > before.txt             in one checkout
    python -m benchmarks.same_bits --against before.txt     in the other

Tiny tables are fitted under hundreds of settings, and the posteriors asked for what they offer. The first command
prints a line for each setting: the SHA-256 of all arrays of the result, with shapes and dtypes, and the setting's name;
where a setting is refused, that of the exception's type, and its message is printed as well. The second prints the
settings that differ and exits with 1, or says that all are equal. Sentences (the reason for a number of clusters,
advice of checks, messages of exceptions) do not count. A setting that fails with anything but an InputError is shown
on stderr, and both commands exit with 1. Compare on one machine, with the same versions of all packages.
"""

import argparse
import contextlib
import hashlib
import re
import sys
import tempfile
import warnings
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np

import coaltree as ct

SHORT = {"n_samples": 4, "n_warmup": 3, "random_state": 5, "progress": False}
LONGER = SHORT | {"n_samples": 10}  # for questions, which few draws answer with NaN
FIELDS = (
    "children", "times", "log_weights", "weights", "log_joint", "log_evidence", "labels", "theta", "chain", "is_chain",
    "X", "columns", "errors", "groups", "row_labels", "tail_scale", "imputed", "used", "fitted",
)  # fmt: skip
FAILED = "failed"  # a setting that the checkout does not know, or a bug
INFO = ("seed", "convergence", "stopping", "choice")  # of a posterior; only their numbers count

# Tables


def _blobs(n, d):
    rng = np.random.default_rng(n)
    return rng.standard_normal((n, d)) @ (np.eye(d) + 0.3) + 4.0 * rng.standard_normal((3, d))[np.arange(n) % 3]


def _with_missing(X):
    X = X.copy()
    X.flat[np.random.default_rng(1).permutation(X.size)[: X.size // 10]] = np.nan
    return X


ROWS, NEW_ROWS = _blobs(18, 4), _blobs(5, 4)
ROWS[7] += 20.0  # an outlier
CURVES = np.sin(np.linspace(0.0, 3.0, 5) + _blobs(16, 1)) + 0.1 * _blobs(16, 5)
MANY_ROWS = _blobs(140, 3)  # local candidates by default
GROUPS = [f"leaf {i}" for i in np.arange(len(ROWS)) // 2]
ERRORS = np.linspace(0.5, 2.0, len(ROWS))
TABLES = {
    "missing": {"X": _with_missing(ROWS)},
    "groups": {"X": ROWS, "groups": GROUPS},
    "missing groups": {"X": _with_missing(ROWS), "groups": GROUPS},
    "duplicates": {"X": ROWS[np.arange(len(ROWS)) % 13]},
    "rounded": {"X": np.column_stack([ROWS.round(0), np.full(len(ROWS), 2.0)])},  # ties, and a constant column
    "float32": {"X": ROWS.astype(np.float32)},
}
NOISES = {
    "noise 0": {"noise": 0.0},
    "noise 0.1": {"noise": 0.1},
    "noise learn": {"noise": "learn"},
    "noise student": {"noise": "student"},
    "noise 0.1 errors": {"noise": 0.1, "errors": ERRORS},
    "noise student errors": {"noise": "student", "errors": ERRORS},
}


def _samplers():
    return {
        "regraft all": ct.Regraft(candidates="all"),
        "regraft local": ct.Regraft(candidates="local", n_neighbors=3),
        "insertion": ct.Insertion(n_particles=8),
        "mpost1": ct.MPost1(n_particles=8),
        "mpost2": ct.MPost2(n_particles=8),
        "post_post": ct.PostPost(n_particles=8),
        "smc1": ct.SMC1(n_particles=8),
        "prior": ct.Prior(n_particles=8),
        "greedy": "greedy",
        "mgreedy": "mgreedy",
        "greedy_teh": "greedy_teh",
    }


def _covariances():
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    return {
        "spherical": "spherical",
        "scaled": "scaled",
        "diagonal": "diagonal",
        "full": "full",
        "auto": "auto",
        "squared_exponential": "squared_exponential",
        "matern32": ct.Matern32(grid=(2, 2)),
        "fixed": ct.Fixed(np.eye(4) + 0.5),
        "kernel": ct.Kernel(RBF(1.5) + WhiteKernel(0.2)),
    }


# Settings


def settings():
    """A function without arguments for each name of a setting."""
    samplers, covariances = _samplers(), _covariances()
    found = {}

    def add(*names, run):
        name = ", ".join(names)
        assert name not in found, name
        found[name] = run

    def add_fit(*names, X=ROWS, **options):
        add("fit", *names, run=partial(_fit, X, **SHORT | options))

    for (sampler, tree), (name, phi) in product(samplers.items(), covariances.items()):
        add_fit(sampler, name, covariance=phi, sampler=tree)
    for (name, phi), (noise, options) in product(covariances.items(), NOISES.items()):
        add_fit(name, noise, covariance=phi, **options)
    for (table, data), (noise, options), phi in product(TABLES.items(), NOISES.items(), ("scaled", "full")):
        add_fit(table, noise, phi, covariance=phi, **data | options)
    for (sampler, tree), (table, data) in product(samplers.items(), TABLES.items()):
        add_fit(sampler, table, "noise 0.1", sampler=tree, covariance="scaled", noise=0.1, **data)
    for table in ("missing", "duplicates"):
        for name, phi in covariances.items():
            add_fit(name, table, covariance=phi, **TABLES[table])
    _add_special_fits(add_fit)
    add("fit", "joblib, threading", run=partial(_in_parallel, "threading"))
    add("fit", "joblib, processes", run=partial(_in_parallel, "loky"))

    for sampler, tree in samplers.items():
        for name, options in {
            "fixed": {"covariance": covariances["fixed"]},
            "scaled, noise 0.1": {"covariance": "scaled", "noise": 0.1},
            "errors": {"noise": 0.1, "errors": ERRORS},
            "duplicates": TABLES["duplicates"],
            "2 threads": {"n_threads": 2},
        }.items():
            run = partial(ct.sample_trees, **{"X": ROWS, "sampler": tree} | SHORT | options)
            add("sample_trees", sampler, name, run=run)
    for start in ("average", "insertion", "greedy", "prior"):
        run = partial(ct.sample_trees, ROWS, sampler=ct.Regraft(start=start), **SHORT)
        add("sample_trees", f"start {start}", run=run)
    many = partial(ct.sample_trees, ROWS, sampler=ct.MPost2(n_particles=200, resample_below=1.0), **SHORT)
    add("sample_trees", "200 particles", run=many)
    add("sample_trees", "200 particles, 2 threads", run=partial(many, n_threads=2))

    for names, interruption in INTERRUPTIONS.items():
        add("resumed", names, run=partial(_resumed, **interruption))
    for of, (question, ask) in product(POSTERIORS, QUESTIONS.items()):
        add("posterior", of, question, run=partial(_asked, of, ask))
    add("simulate", run=partial(ct.simulate, 12, 3, "full", 5, noise=ct.Noise(0.1, tails="student")))
    add("compare", run=partial(_compared, None))
    add("compare", "held out", run=partial(_compared, NEW_ROWS))
    add("concat", run=lambda: ct.concat([_posterior("rows"), _posterior("rows").thin(2)]))
    add("estimator", run=_estimator)
    return found


def _add_special_fits(add_fit):
    auto = {"n_samples": "auto", "n_warmup": "auto"}
    add_fit("4 chains", n_chains=4)
    add_fit("one chain", n_chains=1)
    add_fit("2 jobs", n_jobs=2)
    add_fit("many rows", X=MANY_ROWS)
    add_fit("many rows", "2 jobs", X=MANY_ROWS, n_jobs=2)
    add_fit("auto length", "12 iterations", **auto, max_iterations=12)
    add_fit("auto length", "until converged", X=ROWS[:12], **auto, covariance="spherical", noise=0.1)
    add_fit("auto length", "warm-up of 3", n_samples="auto", max_iterations=30)
    add_fit("auto length", "missing", **auto, max_iterations=30, **TABLES["missing"])
    add_fit("auto warm-up", n_warmup="auto", n_samples=2, n_chains=1)
    add_fit("auto", "curves", X=CURVES)
    add_fit("auto", "columns of other units", X=ROWS[:8] * [1.0, 10.0, 100.0, 1000.0])
    add_fit("curves", "squared_exponential", X=CURVES, covariance="squared_exponential")
    add_fit("curves", "squared_exponential without noise", X=CURVES, covariance=ct.SquaredExponential(noise=0.0))
    add_fit("curves", "matern32", X=CURVES, covariance="matern32")
    add_fit("full", "amplitude", covariance=ct.Full(np.eye(4) + 0.5, learn="amplitude"))
    add_fit("spherical", "known", covariance=ct.Spherical(amplitude=2.0, learn=False))
    add_fit("spherical", "prior", covariance=ct.Spherical(priors={"amplitude": ct.InverseGamma(2.0, 3.0)}))
    add_fit("noise", "student of 2 degrees", noise=ct.Noise(0.2, tails="student", df=2.0))
    add_fit("noise", "prior", noise=ct.Noise(prior=ct.LogNormal(0.5, 1.0)))
    add_fit("negative noise", noise=-1.0)
    add_fit("unknown covariance", covariance="round")
    add_fit("one row", X=ROWS[:1])
    add_fit("infinite", X=np.where(ROWS > 3.0, np.inf, ROWS))
    add_fit("data frame", X=_frame)
    for table, data in TABLES.items():
        for start in ("tree", "full", "groups"):
            add_fit(f"start {start}", table, start=start, covariance="full", **data)
    add_fit("start tree", start="tree")
    add_fit("start rows", start="rows", random_state=6)
    add_fit("start rows", "auto length", start="rows", **auto, max_iterations=12)


def _frame():
    import pandas as pd

    return pd.DataFrame(ROWS, index=pd.RangeIndex(100, 100 + len(ROWS)), columns=list("abcd"))


def _fit(X, *, start=None, **options):
    """Fit; a start is given by its name, a data frame as the function that makes it."""
    start = ct.simulate(len(ROWS), 2, random_state=5)[1] if start == "tree" else start and _posterior(start)
    return ct.fit(X() if callable(X) else X, start=start, **options)


def _in_parallel(backend):
    from joblib import parallel_config

    with parallel_config(backend, n_jobs=2):
        return ct.fit(ROWS, **SHORT)


def _estimator():
    model = ct.CoalescentClustering(n_clusters=3, n_samples=10, n_warmup=3, random_state=5).fit(ROWS)
    found = [model.labels_, model.membership_, model.linkage_, model.support_, model.posterior_]
    return [*found, model.predict_proba(NEW_ROWS), model.score_samples(NEW_ROWS)]


def _compared(X_heldout):
    return ct.compare({name: _posterior(name) for name in ("rows", "full")}, X_heldout)._replace(basis=None)


# Runs that are interrupted


class Stopped(Exception):
    """What a progress function raises to end a run."""


AUTO = {"n_samples": "auto", "n_warmup": "auto", "max_iterations": 30}
INTERRUPTIONS = {
    "exception": {},
    "exception, missing": TABLES["missing"],
    "exception, groups": TABLES["groups"],
    "exception, duplicates": TABLES["duplicates"],
    "exception, mpost1": {"sampler": "mpost1"},
    "exception, 2 jobs": {"n_jobs": 2},
    "exception, many rows": {"X": MANY_ROWS},
    "exception, auto length": AUTO,
    "exception, auto length, missing": AUTO | TABLES["missing"],
    "exception, start": {"start": "rows"},
    "interrupt": {"how": KeyboardInterrupt},
    "interrupt after 2 calls, missing": TABLES["missing"] | {"how": KeyboardInterrupt, "calls": 2},
    "interrupt after 2 calls, auto length": AUTO | {"how": KeyboardInterrupt, "calls": 2},
    "finished": {"calls": 10**6},
    "max_iterations": AUTO | {"max_iterations": 12, "calls": 10**6},
    "max_iterations, then more": AUTO | {"max_iterations": 12, "calls": 10**6, "then": {"max_iterations": 30}},
    "other seed": {"then": {"random_state": 6}},
}


def _resumed(*, X=ROWS, how=Stopped, calls=1, then=None, **options):
    """Interrupt a run when it calls its progress function, and resume it from its checkpoint."""
    left = calls

    def progress(done, total):
        nonlocal left
        left -= 1
        if left == 0:
            raise how

    with tempfile.TemporaryDirectory() as folder:
        options = SHORT | options | {"checkpoint": Path(folder) / "checkpoint.npz"}
        with contextlib.suppress(Stopped, KeyboardInterrupt):
            _fit(X, **options | {"progress": progress})
        assert options["checkpoint"].exists()
        return _fit(X, **options | (then or {}))


# Questions to a posterior


POSTERIORS = {
    "rows": {"X": ROWS},
    "full": {"X": ROWS, "covariance": "full", "noise": "learn"},
    "missing": TABLES["missing"],
    "groups": TABLES["missing groups"] | {"errors": ERRORS},
    "rounded": TABLES["rounded"] | {"covariance": "full"},
    "particles": {"X": ROWS, "noise": 0.1},
}


@cache
def _posterior(name):
    if name == "particles":
        return ct.sample_trees(**POSTERIORS[name], sampler=ct.MPost2(n_particles=20), **SHORT)
    return ct.fit(**POSTERIORS[name], **LONGER)


def _asked(name, ask):
    return ask(_posterior(name))


def _columns_of(posterior):
    """New rows with as many columns as were fitted."""
    return NEW_ROWS if posterior.X.shape[1] == 4 else np.column_stack([NEW_ROWS, np.full(len(NEW_ROWS), 2.0)])


def _saved(posterior):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "posterior.npz"
        posterior.save(path)
        return ct.load(path)


def _nexus(posterior):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trees.nex"
        posterior.to_nexus(path)
        return path.read_text()


def _some(value, *names):
    return [getattr(value, name) for name in names]


def _place(posterior):
    placed = posterior.place(_columns_of(posterior), classes=np.arange(posterior.n) % 3)
    names = "labels", "log_density", "trees", "weights", "nodes", "times", "classes", "class_probability"
    return [*_some(placed, *names), placed.nearest_clades(0), placed.time_interval()]


QUESTIONS = {
    "mean_tree": lambda post: post.mean_tree(),
    "mcc_tree": lambda post: post.mcc_tree(),
    "map_tree": lambda post: post.map_tree(),
    "consensus": lambda post: post.consensus().to_newick(),
    "cophenetic": lambda post: [post.cophenetic(), post.cophenetic(log=True)],
    "ess": lambda post: [post.ess, post.topology_ess, post.split_frequency_sd()],
    "clade_support": lambda post: [post.clade_support(post.mean_tree(), kind) for kind in ("exact", "transfer")],
    "node_times": lambda post: post.node_times(post.mean_tree(), 0.8),
    "support": lambda post: _some(post.support(range(4)), "exact", "transfer", "distance", "inside", "time"),
    "cut": lambda post: [post.cut(k) for k in (1, 2, 3, 5)],
    "cut, outliers": lambda post: [post.cut(3, outliers=True), post.cut(3), post.cut(time=0.5)],
    "coclustering": lambda post: post.coclustering(3),
    "membership": lambda post: post.membership(post.cut(3)),
    "membership, outliers": lambda post: post.membership(post.cut(3, outliers=True)),
    "stability": lambda post: post.stability(post.cut(3))._replace(words=None),
    "suggest_n_clusters": lambda post: post.suggest_n_clusters()._replace(reason=None, basis=None),
    "loo": lambda post: _some(post.loo(), "elpd", "se", "p_loo", "pointwise", "pareto_k", "rows", "log_density"),
    "check": lambda post: [_some(one, "p_value", "z", "draws", "replicates") for one in post.check(n_trees=5)],
    "place": _place,
    "place, missing": lambda post: post.place(_with_missing(_columns_of(post))).log_density,
    "thin": lambda post: post.thin(3),
    "slice": lambda post: post[2:5],
    "save and load": _saved,
    "to_newick": lambda post: post.mean_tree().to_newick(),
    "to_linkage": lambda post: post.mean_tree().to_linkage(),
    "to_nexus": _nexus,
    "annotated_tree": lambda post: post.annotated_tree(),
    "log_prior": lambda post: [tree.log_prior() for tree in post.trees],
    "tree_distance": lambda post: ct.tree_distance(post.trees[0], post.mean_tree()),
    "metrics": lambda post: ct.metrics.dendrogram_purity(post, np.arange(post.n) % 3),
    "completed": lambda post: [post.completed(1), post.leaf_values(), post.model_values(1), post.row_variances(1)],
}


# Digests


def parts(value):
    """The bytes of a result, piece by piece, each with its kind."""
    if isinstance(value, ct.Posterior):
        value = [getattr(value, name) for name in FIELDS] + [type(value.covariance).__name__] + numbers_of(value.info)
    elif isinstance(value, ct.Tree):
        value = [value.children, value.times, value.labels]
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("an array of objects has no bytes to compare")
        yield f"array {value.dtype.descr} {value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, dict):
        yield from parts(sorted(value.items()))
    elif isinstance(value, list | tuple):
        yield f"{len(value)} items".encode()
        for item in value:
            yield from parts(item)
    elif isinstance(value, np.generic):
        yield from parts(np.asarray(value))
    elif value is None or isinstance(value, bool | int | float | str):
        yield f"{type(value).__name__} {value!r}".encode()
    else:
        raise TypeError(f"no bytes of a {type(value).__name__} are known")


def numbers_of(info):
    """All numbers below the names of `INFO`, sorted, as texts: words and names may change."""
    return [sorted(_numbers(info.get(name))) for name in INFO]


def _numbers(value):
    if isinstance(value, dict):
        return [text for key, one in value.items() if key != "seconds" for text in _numbers(one)]
    if isinstance(value, list | tuple):
        return [text for one in value for text in _numbers(one)]
    return [] if value is None or isinstance(value, str) else [repr(value)]


def digest_of(run):
    """SHA-256 of what `run` returns, and how it was refused, if it was."""
    refusal = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = list(parts(run()))
        except Exception as error:
            message = re.sub(r"'[^']*[/\\]([^/\\']*)'", r"'\1'", str(error))  # folders have other names each time
            word = "refused" if isinstance(error, ct.InputError) else FAILED
            refusal = " ".join(f"{word}, {type(error).__name__}: {message}".split())
            found = [f"{word}, {type(error).__name__}".encode()]
    digest = hashlib.sha256()
    for part in found:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest(), refusal


def lines_of(chosen):
    """A line for each setting: digest, name and refusal, two blanks between them."""
    for name, run in chosen.items():
        digest, refusal = digest_of(run)
        yield "  ".join([digest, name, *([refusal] if refusal else [])])


def differences(before, now):
    """What differs between two lists of lines: a line for each setting."""
    before, now = ({line.split("  ")[1]: line.split("  ") for line in lines} for lines in (before, now))
    for name in before | now:
        if name not in now or name not in before:
            yield f"{name}: only {'before' if name in before else 'now'}"
        elif before[name][0] != now[name][0]:
            refusals = [" ".join(lines[name][2:]) or "a result" for lines in (before, now)]
            yield name + (f": {refusals[0]} before, {refusals[1]} now" if refusals != ["a result"] * 2 else "")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_bits", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--against", type=Path, help="what another checkout printed")
    against = parser.parse_args().against
    before = None if against is None else against.read_text().splitlines()
    print(f"coaltree of {Path(ct.__file__).parent}", file=sys.stderr)  # is it the checkout that is meant?
    now = []
    for line in lines_of(settings()):
        now.append(line)
        if before is None:
            print(line, flush=True)
    failed = [line for line in now if f"  {FAILED}, " in line]
    for line in failed:
        print(line, file=sys.stderr)
    found = [] if before is None else list(differences(before, now))
    if before is not None:
        print("\n".join(found) if found else f"All {len(now)} settings are equal.")
    sys.exit(1 if found or failed else 0)


if __name__ == "__main__":
    main()
