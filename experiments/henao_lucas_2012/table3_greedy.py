"""Table 3: the greedy samplers, alternating with the covariance.

Data as in Table 2 (squared exponential, σ² = 1e-9 known, true ℓ = 1 learnt from a start at 0.05), n = d = 32 and 128;
50 iterations, the first 10 dropped. `Greedy` is what the paper ascribes to Teh et al., `GreedyTeh` what these print.
"Known Φ" is the one tree that each gives with the true covariance: what is left of the error when nothing is learnt.
Regrafting is run the same way, for comparison.

The last table is from a slow transcription of the printed rules (in this script, without the package), once with the
rate λ of all pairs, as printed, and once with the rate 1 of one pair.
"""

from dataclasses import dataclass

import numpy as np

import coaltree as ct
from coaltree.samplers.base import Sampler

from .common import (
    MEASURES,
    Page,
    cost_table,
    error_checks,
    error_tables,
    figure,
    main,
    replicate,
    signed,
    structure_errors,
    summarise,
    text,
    timed_warm,
)
from .paper import GREEDY
from .table2_covariance import LENGTH2, NOISE, fit, length_errors, length_table

REPLICATES = 50
SIZES = (32, 128)
LONG_START = "MGreedy, ℓ from d - 1"  # the median of ℓ's default prior
SAMPLERS = {"Greedy": ct.Greedy(), "MGreedy": ct.MGreedy(), "GreedyTeh": ct.GreedyTeh(), "Regraft": ct.Regraft()}
RULES = ("Greedy", "MGreedy", "GreedyTeh")
TRANSCRIBED = ("Greedy", "MGreedy")
ONE_PAIR = {name: f"{name}, λ = 1" for name in TRANSCRIBED}  # ℓ learnt
ONE_PAIR_EVERY = 5  # these take long, and are tried on a fifth of the data sets


def one_data_set(n, seed):
    truth = ct.SquaredExponential(length2=LENGTH2, noise=NOISE, learn=False)
    X, tree = ct.simulate(n, n, truth, random_state=np.random.default_rng([3, n, seed]))
    records = []
    for name, sampler in SAMPLERS.items():
        post, seconds = timed_warm(
            ("fit", name),
            lambda sampler=sampler: fit(X, sampler, seed),
            lambda sampler=sampler: fit(X[:8], sampler, seed, 6, 1),
        )
        record = {"n": n, "replicate": seed, "sampler": name, "known": 0, "cpu_seconds": seconds}
        shares = {"time_bias": _time_bias(post, tree), "root_bias": _root_bias(post, tree)}
        records.append(record | structure_errors(post, tree) | length_errors(post, LENGTH2) | shares)
        if name == "MGreedy":
            post = fit(X, sampler, seed, start=n - 1.0)
            record = {"n": n, "replicate": seed, "sampler": LONG_START, "known": 0}
            records.append(record | structure_errors(post, tree) | length_errors(post, LENGTH2))
        if name in TRANSCRIBED and seed % ONE_PAIR_EVERY == 0:
            post = fit(X, OnePairRate(name), seed)
            record = {"n": n, "replicate": seed, "sampler": ONE_PAIR[name], "known": 0}
            records.append(record | structure_errors(post, tree) | length_errors(post, LENGTH2))
        for total_rate in (True, False) if name in TRANSCRIBED else ():
            slow = transcribed_greedy(truth.whitener(n).whiten(X), name, total_rate)
            record = {"n": n, "replicate": seed, "sampler": name, "known": 2 + total_rate}
            records.append(record | structure_errors(slow, tree))
        if name in RULES:
            one = ct.sample_trees(X, truth, sampler, random_state=seed, progress=False)
            record = {"n": n, "replicate": seed, "sampler": name, "known": 1}
            shares = {"time_bias": _time_bias(one, tree), "root_bias": _root_bias(one, tree)}
            records.append(record | structure_errors(one, tree) | shares)
    return records


def transcribed_greedy(X, rule, total_rate):
    """The printed rules, word for word: smallest Δ = v*/2 - r/2 over all pairs, messages merged as in the model."""
    n, d = X.shape
    mean, var, born = list(X), [0.0] * n, [0.0] * n
    alive, children, times, now = list(range(n)), [], [], 0.0
    eps = np.full((2 * n - 1, 2 * n - 1), np.inf)
    eps[:n, :n] = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    np.fill_diagonal(eps, np.inf)
    for m in range(n, 1, -1):
        lam = 0.5 * m * (m - 1) if total_rate else 1.0
        pair_eps = eps[np.ix_(alive, alive)]
        if rule == "MGreedy":
            p = 1 - d / 2
            v = (p + np.sqrt(p**2 + lam * pair_eps)) / lam
        else:
            v = (-d + np.sqrt(d**2 + 2 * lam * pair_eps)) / lam
        grown = np.array([var[c] + now - born[c] for c in alive])  # r = the sum of two of these
        i, j = np.unravel_index(np.argmin(v - grown[:, None] - grown[None]), v.shape)
        now += max(0.0, 0.5 * float(v[i, j] - grown[i] - grown[j]))
        a, b = alive[i], alive[j]
        s, t = var[a] + now - born[a], var[b] + now - born[b]
        mean.append((t * mean[a] + s * mean[b]) / (s + t))
        var.append(s * t / (s + t))
        born.append(now)
        children.append(sorted((a, b)))
        times.append(now)
        alive = [c for c in alive if c not in (a, b)]
        new = len(mean) - 1
        eps[new, alive] = eps[alive, new] = np.sum((np.array(mean)[alive] - mean[new]) ** 2, axis=1) if alive else 0.0
        alive.append(new)
    return ct.Tree(children, times)


@dataclass(frozen=True)
class OnePairRate(Sampler):
    """The transcribed rule with λ = 1, in the place of a sampler: for `fit` to alternate with the covariance."""

    rule: str
    needs_vectors = False

    def step(self, problem, tree, rng, **options):
        tree = transcribed_greedy(problem.W, self.rule, total_rate=False)
        return tree.children.copy(), tree.times.copy(), {}

    def run(self, problem, rng=None, **options):
        raise NotImplementedError("it has no density of its own: only fit alternates it")


def _log_errors(post, tree):
    return np.mean([np.log(draw.times) for draw in post.trees], axis=0) - np.log(tree.times)


def _time_bias(post, tree):
    """Mean signed error of the log merge times: below 0, merges come too early."""
    return float(_log_errors(post, tree).mean())


def _root_bias(post, tree):
    """The same, of the last tenth of the merges, next to the root."""
    errors = _log_errors(post, tree)
    return float(errors[-max(1, len(errors) // 10) :].mean())


def run(options, sizes=SIZES):
    replicates = options.replicates or REPLICATES
    page = Page("table3_greedy", "Table 3: greedy trees", options, f"{replicates} replicates")
    page.say(__doc__.strip().split("\n\n")[1])
    records = replicate(one_data_set, [(n, seed) for n in sizes for seed in range(replicates)], options)
    learnt = summarise([record for record in records if not record["known"]], ("n", "sampler"))
    known = summarise([record for record in records if record["known"] == 1], ("n", "sampler"))
    slow = summarise([record for record in records if record["known"] >= 2], ("n", "sampler", "known"))
    names = list(SAMPLERS)
    page.checks(error_checks(learnt, GREEDY, sizes, ("MGreedy",), names))
    error_tables(page, learnt, GREEDY, sizes, names)
    length_table(page, learnt, GREEDY, sizes, names)
    cost_table(page, learnt, GREEDY, sizes, names)
    _known_table(page, learnt, known, sizes)
    _paired_table(page, records, sizes)
    _start_table(page, records, sizes)
    _rate_table(page, slow, known, learnt, sizes)
    page.csv(records)
    page.write()


def _known_table(page, learnt, known, sizes):
    page.heading("With Φ known, and the signed errors")
    page.say(
        "Bias is the mean of log estimated minus log true merge time: over all merges, and over the tenth of them next "
        "to the root."
    )
    columns = [*(f"{quantity}_{measure}_mean" for quantity, measure in MEASURES), "time_bias", "root_bias"]
    rows = [
        [f"n = d = {n}", name, words, *(summary[n, name][column] for column in columns)]
        for n in sizes
        for name in RULES
        for words, summary in (("learnt", learnt), ("known Φ", known))
    ]
    headers = [f"{quantity} {measure}" for quantity, measure in MEASURES]
    page.table(["", "", "", *headers, "bias of times", "bias near the root"], rows)


def _rate_table(page, slow, known, learnt, sizes):
    page.heading("Which rate the paper's numbers speak for")
    page.say(
        "The transcription with the printed λ = m(m-1)/2 must agree with the package; with λ = 1, the rate of one "
        f"pair, the prior hardly pulls times down. With λ = 1 and ℓ learnt: one in {ONE_PAIR_EVERY} of the data sets."
    )
    columns = [f"{quantity}_{measure}_mean" for quantity, measure in MEASURES]
    rows = []
    for n in sizes:
        for name in TRANSCRIBED:
            rows.append([f"n = d = {n}", name, "Φ known, package", *(known[n, name][c] for c in columns)])
            rows.append(["", "", "Φ known, transcribed, λ = m(m-1)/2", *(slow[n, name, 3][c] for c in columns)])
            rows.append(["", "", "Φ known, transcribed, λ = 1", *(slow[n, name, 2][c] for c in columns)])
            rows.append(["", "", "ℓ learnt, package", *(learnt[n, name][c] for c in columns)])
            rows.append(["", "", "ℓ learnt, transcribed, λ = 1", *(learnt[n, ONE_PAIR[name]][c] for c in columns)])
            theirs = [f"*{text(GREEDY[n, quantity, measure][name])}*" for quantity, measure in MEASURES]
            rows.append(["", "", "*ℓ learnt, paper*", *theirs])
    page.table(["", "", "", *(f"{quantity} {measure}" for quantity, measure in MEASURES)], rows)
    for name in TRANSCRIBED:
        below = [
            learnt[n, ONE_PAIR[name]][f"{quantity}_{measure}_mean"].mean <= GREEDY[n, quantity, measure][name].mean
            for n in sizes
            for quantity, measure in MEASURES
        ]
        page.say(f"{ONE_PAIR[name]}, ℓ learnt: {sum(below)} of {len(below)} errors at or below the paper's mean.")


def _start_table(page, records, sizes):
    page.heading("Where ℓ starts")
    page.say(
        "Runs whose mean ℓ is off by more than a factor 2, and the median and largest time mse of the draws. Started "
        "too long, ℓ and the tree can hold each other, for more iterations than are dropped, where the kernel is all "
        "but constant and every difference counts as noise."
    )
    rows = []
    for n in sizes:
        for name in ("MGreedy", LONG_START):
            chosen = [r for r in records if r["n"] == n and r["sampler"] == name and not r["known"]]
            astray = sum(not 0.5 < r["length2_mean"] / LENGTH2 < 2.0 for r in chosen)
            errors = [r["time_mse_draws"] for r in chosen]
            rows.append([f"n = d = {n}", name, f"{astray} of {len(chosen)}", float(np.median(errors)), max(errors)])
    page.table(["", "", "astray", "median time mse", "largest"], rows)


def _paired_table(page, records, sizes):
    """The paper's claim is that MGreedy is better: on the same data sets, by how much?"""
    page.heading("MGreedy against the others on the same data sets")
    page.say("Mean difference of time mse (of the mean), MGreedy minus the other, with its standard error.")
    value = {(r["n"], r["replicate"], r["sampler"]): r["time_mse_mean"] for r in records if not r["known"]}
    rows = []
    for n in sizes:
        for other in ("Greedy", "GreedyTeh", "Regraft"):
            seeds = [key[1] for key in value if key[0] == n and key[2] == other]
            found = figure([value[n, seed, "MGreedy"] - value[n, seed, other] for seed in seeds])
            rows.append([f"n = d = {n}", other, signed(found.mean, found.sd / len(seeds) ** 0.5)])
    page.table(["", "MGreedy minus", "time mse"], rows)


if __name__ == "__main__":
    main(run, __doc__)
