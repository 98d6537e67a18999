"""Motion capture: 102 series of length 217, the coordinates of 34 markers on a person breaking into a run.

The paper does not state its preprocessing. Ours: in every frame the mean of the markers is subtracted (else all that
the tree sees is the run across the room, which all markers share), and everything is divided by 400 (millimetres to a
scale near 1; the learnt amplitude makes this immaterial). Markers are relabelled to head, torso, arms and legs, the
shoulders with the arms and the waist with the torso. Covariance: squared exponential over frames, with noise; length,
noise and amplitude learnt. 50 particles and 50 iterations, the first 10 dropped; regrafting 100 iterations after 50.
"""

import numpy as np

import coaltree as ct
from coaltree.posterior.diagnostics.convergence import topology_ess_of

from .common import (
    Page,
    agreement,
    linkage_tree,
    load,
    main,
    permutation_reference,
    quiet,
    replicate,
    seconds_text,
    speed_checks,
    summarise,
    text,
    timed_warm,
)
from .paper import MOCAP_ESS, MOCAP_LARGEST_WEIGHT, MOCAP_SECONDS

REPLICATES = 5
PARTICLES, ITERATIONS, DROPPED = 50, 50, 10
REGRAFT_ITERATIONS, WARMUP = 100, 50
LONG_LENGTH2, SMOOTHEST = 400.0, 12  # a kernel of length 20 frames (1/6 s), and how many of its directions are kept
PARTS = {
    "Head": ("BHD", "FHD"),
    "Torso": ("C7", "BWT", "FWT"),
    "Arm": ("SHO", "UPA", "ELB", "FRM", "WRA", "WRB", "FIN"),
    "Leg": ("THI", "KNE", "SHN", "ANK", "HEE", "MT5", "TOE"),
}
SAMPLERS = {
    "MPost2": ct.MPost2(n_particles=PARTICLES),
    "MPost1": ct.MPost1(n_particles=PARTICLES),
    "MGreedy": ct.MGreedy(),
    "SMC1": ct.SMC1(n_particles=PARTICLES),
    "PostPost": ct.PostPost(n_particles=PARTICLES),
    "Regraft": ct.Regraft(),
}


def part_of(marker):
    """Leg:L of LKNE, Head of RFHD: the paper's labels."""
    for part, endings in PARTS.items():
        if marker in endings or marker[1:] in endings:
            return f"{part}:{marker[0]}" if part in ("Arm", "Leg") else part
    raise ValueError(f"no body part is known for marker {marker!r}")


def prepared(X, how):
    """The series (102, 217) under one of four preprocessings."""
    if how == "as recorded":
        return X
    points = X.reshape(-1, 3, X.shape[1])
    centred = ((points - points.mean(axis=0)) / 400.0).reshape(X.shape)
    if how == "centred per frame":
        return centred
    if how == "centred per frame, series centred":
        return centred - centred.mean(axis=1, keepdims=True)
    if how == "centred per frame, series standardised":
        moved = centred - centred.mean(axis=1, keepdims=True)
        return moved / moved.std(axis=1, keepdims=True)
    raise ValueError(how)


PREPARATIONS = (
    "centred per frame",
    "as recorded",
    "centred per frame, series centred",
    "centred per frame, series standardised",
)


def smoothest(X):
    """The series in the smoothest directions of a long kernel, each in units of its standard deviation."""
    kernel = ct.SquaredExponential(length2=LONG_LENGTH2, noise=0.0).matrix(X.shape[1])
    values, vectors = np.linalg.eigh(kernel)
    return X @ vectors[:, -SMOOTHEST:] / np.sqrt(values[-SMOOTHEST:])


def kernel():
    return ct.SquaredExponential(length2=10.0, noise=0.01)


def fit(X, covariance, sampler, seed, kept=None, dropped=None):
    if kept is None:
        kept, dropped = (REGRAFT_ITERATIONS, WARMUP) if sampler == "Regraft" else (ITERATIONS - DROPPED, DROPPED)
    return ct.fit(
        X,
        covariance,
        SAMPLERS[sampler],
        n_samples=kept,
        n_warmup=dropped,
        noise=0.0,
        n_chains=1,
        random_state=seed,
        progress=False,
    )


def one_run(X, parts, axes, sampler, seed):
    """One fit as in the paper, its time, its scores, and the weights of a last set of particles."""
    post, seconds = timed_warm(
        sampler,
        lambda: fit(X, kernel(), sampler, seed),
        lambda: fit(X[::8], kernel(), sampler, seed, 5, 1),
    )
    record = {"sampler": sampler, "replicate": seed, "cpu_seconds": seconds}
    record |= agreement(post, parts, "_part") | agreement(post, axes, "_axis")
    record |= {name: float(draws.mean()) for name, draws in post.theta.items()}
    record["log_joint"] = float(post.log_joint.mean())
    if sampler == "Regraft":
        record |= {"ess": post.ess, "topology_ess": topology_ess_of(post)}
    elif sampler != "MGreedy":
        theta = {name: float(draws[-1]) for name, draws in post.theta.items()}
        last = ct.sample_trees(X, kernel().with_theta(theta), SAMPLERS[sampler], random_state=seed, progress=False)
        record |= {"ess": last.ess, "largest_weight": float(last.weights.max())}
    return [record | _first_merges(post, parts)]


def _first_merges(post, parts):
    """Mean time, over draws and markers, at which a series of a body part first merges."""
    times = np.zeros(post.n)
    for tree, weight in zip(post.trees, post.weights, strict=True):
        times += weight * tree.node_times[tree.parents[: tree.n]]
    return {f"first_merge_{part}": float(times[parts == part].mean()) for part in np.unique(parts)}


def one_choice(raw, how, covariance, parts, axes, seed):
    """What one choice of preprocessing and covariance gives."""
    X = prepared(raw, how)
    if covariance in ("average link", "Ward"):
        tree = shown = linkage_tree(X, "average" if covariance == "average link" else "ward")
    elif covariance == f"{SMOOTHEST} smoothest directions":
        tree = fit(smoothest(X), ct.Spherical(), "Regraft", seed)
        shown = tree.mcc_tree()
    elif covariance == f"average link, {SMOOTHEST} smoothest directions":
        tree = shown = linkage_tree(smoothest(X), "average")
    else:
        choices = {
            "Spherical": ct.Spherical(),
            "squared exponential": kernel(),
            "squared exponential, noise 0.1": ct.SquaredExponential(10.0, 0.1, learn=("length2", "amplitude")),
            "squared exponential, noise 1": ct.SquaredExponential(10.0, 1.0, learn=("length2", "amplitude")),
        }
        tree = fit(X, choices[covariance], "Regraft", seed)
        shown = tree.mcc_tree()
    record = {"preparation": how, "covariance": covariance}
    record |= agreement(tree, parts, "_part") | agreement(tree, axes, "_axis")
    rng = np.random.default_rng([6, seed])
    for name, classes in (("part", parts), ("axis", axes)):
        for score, (mean, high) in permutation_reference(shown, classes, rng, 200).items():
            record |= {f"{score}_{name}_permuted": mean, f"{score}_{name}_permuted_high": high}
    if isinstance(tree, ct.Posterior):
        record |= {name: float(draws.mean()) for name, draws in tree.theta.items()}
    return [record]


CHOICES = (
    "average link",
    "Ward",
    f"average link, {SMOOTHEST} smoothest directions",
    "squared exponential",
    "squared exponential, noise 0.1",
    "squared exponential, noise 1",
    "Spherical",
    f"{SMOOTHEST} smoothest directions",
)


def run(options, samplers=tuple(SAMPLERS), preparations=PREPARATIONS, choices=CHOICES):
    data = load(options, "mocap_run1.npz")
    raw, names = data["X"], [str(name) for name in data["names"]]
    parts = np.array([part_of(name.split(":")[0]) for name in names])
    axes = np.array([name.split(":")[1] for name in names])
    X = prepared(raw, PREPARATIONS[0])
    replicates = options.replicates or REPLICATES
    page = Page("mocap", "Motion capture", options, f"{replicates} runs of each sampler with different seeds")
    page.say(__doc__.strip().split("\n\n")[1])
    cases = [(X, parts, axes, sampler, seed) for sampler in samplers for seed in range(replicates)]
    records = replicate(one_run, cases, options)
    summary = summarise(records, ("sampler",))
    seconds = {name: summary[(name,)]["cpu_seconds"].mean for name in samplers}
    page.checks(speed_checks({name: (MOCAP_SECONDS[name], seconds[name]) for name in samplers if name != "Regraft"}))
    _sampler_table(page, summary)
    _merge_table(page, summary, sorted(set(parts)))
    page.csv(records)
    cases = [(raw, how, choice, parts, axes, 0) for how in preparations for choice in choices]
    chosen = replicate(one_choice, cases, options)
    _choice_table(page, chosen)
    page.csv(chosen, "mocap_choices")
    with quiet():
        _figures(page, X, parts, axes)
    page.write()


def _sampler_table(page, summary):
    page.heading("Samplers, as in the paper")
    page.say(
        "Subtree score and area under the ARI curve, by body part (six of them) and by axis. ESS: of the particles of "
        "one more run under the last covariance, as the paper's is of its last iteration; for regrafting, of the log "
        "joint over 100 iterations. "
        f"The paper: ESS {MOCAP_ESS:.0f} of 50 and largest weight {MOCAP_LARGEST_WEIGHT} for MPost2."
    )
    rows = []
    for (sampler,), found in summary.items():
        theirs = f"*{seconds_text(MOCAP_SECONDS[sampler])}*" if sampler in MOCAP_SECONDS else ""
        scores = [f"{found[f'subtree_{c}'].mean:.2f} / {found[f'area_{c}'].mean:.2f}" for c in ("part", "axis")]
        weights = [text(found[name]) if name in found else "" for name in ("ess", "largest_weight")]
        theta = [found[name] for name in ("length2", "noise", "amplitude")]
        rows.append(
            [sampler, found["cpu_seconds"], theirs, *scores, *weights, *theta, f"{found['log_joint'].mean:.0f}"]
        )
    header = ["", "CPU seconds", "*paper*", "by part", "by axis", "ESS", "largest weight", "length2 (frames²)"]
    page.table([*header, "noise", "amplitude", "log joint"], rows)


def _merge_table(page, summary, parts):
    page.heading("Merge times by body part")
    page.say(
        "Mean time at which a series first merges. The paper: leg markers have larger merging times than the others, "
        "head markers smaller."
    )
    rows = [[sampler, *(found[f"first_merge_{part}"] for part in parts)] for (sampler,), found in summary.items()]
    page.table(["", *parts], rows)


def _choice_table(page, records):
    page.heading("What each choice does")
    page.say(
        "Regrafting where a covariance is named. In brackets: mean and 97.5 % quantile of the same score for classes "
        "dealt out at random to the leaves of the tree (200 times; of a posterior, its MCC tree)."
    )
    rows = []
    for record in records:
        cells = []
        for classes in ("part", "axis"):
            for score in ("subtree", "area"):
                key = f"{score}_{classes}"
                low, high = record[f"{key}_permuted"], record[f"{key}_permuted_high"]
                cells.append(f"{record[key]:.2f} ({low:.2f}, {high:.2f})")
        theta = [text(record[name]) if name in record else "" for name in ("length2", "noise")]
        rows.append([record["preparation"], record["covariance"], *cells, *theta])
    header = ["preprocessing", "tree", "subtree by part", "area by part", "subtree by axis", "area by axis"]
    page.table([*header, "learnt length2", "noise"], rows)


def _figures(page, X, parts, axes):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    labels = [f"{part}:{axis}" for part, axis in zip(parts, axes, strict=True)]
    post = fit(X, kernel(), "MPost2", 0)
    tree = post.map_tree()
    page.figure(
        _tall_tree(tree, parts, labels),
        "mocap_tree",
        "The tree of MPost2 with the highest log joint, markers relabelled to body parts",
    )
    clades = _three_clades(tree)
    figure, panels = pyplot.subplots(len(clades), 1, figsize=(7.5, 1.0 + 0.2 * sum(map(len, clades))), squeeze=False,
                                     layout="constrained", height_ratios=[len(clade) for clade in clades])  # fmt: skip
    for panel, clade in zip(panels[:, 0], clades, strict=True):
        panel.imshow(X[clade], aspect="auto", cmap="RdBu_r", vmin=-abs(X).max(), vmax=abs(X).max())
        panel.set_yticks(range(len(clade)), [labels[leaf] for leaf in clade], fontsize=7)
    panels[-1, 0].set_xlabel("frame")
    caption = (
        "Data of three subtrees: the largest three that share no leaf and have at most twelve; red is above the mean "
        "of the markers, blue below"
    )
    page.figure(figure, "mocap_subtrees", caption)
    smooth = fit(smoothest(X), ct.Spherical(), "Regraft", 0).mcc_tree()
    caption = f"For comparison: regrafting in the {SMOOTHEST} smoothest directions, maximum clade credibility tree"
    page.figure(_tall_tree(smooth, parts, labels), "mocap_smooth_tree", caption)


def _tall_tree(tree, parts, labels):
    """All 102 leaves with their names."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.0, 11.5), layout="constrained")
    ct.plotting.dendrogram(tree, axes, clusters=parts, labels=labels, max_leaves=None, time_scale="sqrt")
    return figure


def _three_clades(tree, most=12):
    """Leaves, in the tree's order, of the three largest disjoint clades of at most `most`."""
    small = [k for k in range(tree.n - 1) if tree.sizes[tree.n + k] <= most]
    small.sort(key=lambda k: -tree.sizes[tree.n + k])
    place = {leaf: i for i, leaf in enumerate(tree.leaf_order())}
    members = {c: [c] for c in range(tree.n)}
    for k, (a, b) in enumerate(tree.children):
        members[tree.n + k] = members[a] + members[b]
    chosen = []
    for k in small:
        leaves = members[tree.n + k]
        if len(chosen) < 3 and not any(set(leaves) & set(other) for other in chosen):
            chosen.append(sorted(leaves, key=place.__getitem__))
    return chosen


if __name__ == "__main__":
    main(run, __doc__)
