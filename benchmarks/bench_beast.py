"""Beside BEAST 1.10, with the same model: supports of the same clades, and effective draws for a second of processor.

Φ is the identity, held fixed (`sample_trees`), the population is constant, and there is no noise: so both draw from the
same posterior over trees and times. BEAST's root is all but flat (a prior sample of size 1e-6). It is Debian's
`beast-mcmc`, on one thread, with the moves that BEAUti writes ("classic") and with newer ones ("leaps").

    clades                 that either gives a support of at least 0.05
    largest difference     of two supports; the half width of an interval of 95 % for it stands beside, from the
                           effective draws of that clade in both
    effective draws        of the log joint, of the root's time, and the median of clades with a support of 0.1 to 0.9,
                           for a second of processor time; the Java machine's start is not counted

Without `beast-mcmc` this says how to get it, and shows coaltree's own figures. FULL=1 runs chains five times as long.
"""

import re
import resource
import shutil
import subprocess
import time
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from sklearn.datasets import load_wine

import coaltree as ct
from coaltree._runtime.threads import single_threaded_blas
from coaltree.posterior.diagnostics.convergence import scalar_figures

from .kept import BUILD, is_full
from .timing import table

FOLDER = BUILD / "bench_beast"
STEPS, KEPT_TREES = 500_000, 2000  # of BEAST
SWEEPS, WARMUP = 20_000, 200  # of coaltree
BRIEFLY = {"STEPS": 30_000, "KEPT_TREES": 300, "SWEEPS": 1_000}
BURN_IN = 0.1
RARE, SHOWN, UNSURE = 0.001, 0.05, (0.1, 0.9)
MOVES = {
    "classic": """
<subtreeSlide size="0.1" gaussian="true" weight="30"><treeModel idref="tree"/></subtreeSlide>
<narrowExchange weight="30"><treeModel idref="tree"/></narrowExchange>
<wideExchange weight="3"><treeModel idref="tree"/></wideExchange>
<wilsonBalding weight="3"><treeModel idref="tree"/></wilsonBalding>
<scaleOperator scaleFactor="0.75" weight="3"><parameter idref="rootHeight"/></scaleOperator>
<uniformOperator weight="30"><parameter idref="innerHeights"/></uniformOperator>
<upDownOperator scaleFactor="0.75" weight="3">
  <up><parameter idref="allHeights"/></up><down></down></upDownOperator>""",
    "leaps": """
<subtreeLeap size="0.5" weight="60"><treeModel idref="tree"/></subtreeLeap>
<fixedHeightSubtreePruneRegraft weight="6"><treeModel idref="tree"/></fixedHeightSubtreePruneRegraft>
<scaleOperator scaleFactor="0.75" weight="3"><parameter idref="rootHeight"/></scaleOperator>
<uniformOperator weight="30"><parameter idref="innerHeights"/></uniformOperator>""",
}


def run():
    longer = 5 if is_full() else 1
    program = shutil.which("beast-mcmc") or shutil.which("beast")
    if program is None:
        print("BEAST is not installed; on Debian and Ubuntu: apt-get install beast-mcmc")
    rows, supports = [], []
    for name, X in tables():
        ours = Draws.of_coaltree(X, SWEEPS * longer)
        rows.append((f"{name}, coaltree", *ours.rates(), ""))
        for moves in MOVES if program else ():
            theirs = Draws.of_beast(program, name, X, moves, STEPS * longer)
            times = [a / b for a, b in zip(ours.rates(), theirs.rates(), strict=True)]
            rows.append((f"{name}, BEAST ({moves})", *theirs.rates(), " ".join(f"{value:.0f}" for value in times)))
            supports.append((f"{name}, BEAST ({moves})", *compared(ours, theirs)))
    print()
    table(("effective draws a second", "log joint", "root", "clades", "coaltree's, times as many"), rows)
    if supports:
        print()
        table(("supports beside coaltree's", "clades", "largest difference", "± (95 %)", "mean difference"), supports)


def tables():
    """(name, rows) of a table from the model, and of real rows."""
    yield "32 × 8 simulated", ct.simulate(32, 8, random_state=0)[0]
    wine = load_wine().data
    chosen = np.random.default_rng(0).choice(len(wine), 54, replace=False)
    standardised = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    yield "54 × 13 wines", standardised[np.sort(chosen)]


class Draws:
    """Draws of one program: what is watched from draw to draw, and the seconds of processor that they took."""

    def __init__(self, log_joint, root, clades, seconds):
        self.log_joint, self.root, self.seconds = log_joint, root, seconds
        self.clades = clades  # {clade: whether each draw has it}

    @classmethod
    def of_coaltree(cls, X, sweeps):
        phi = np.eye(X.shape[1])
        ct.sample_trees(X, phi, n_samples=10, random_state=0)  # compiles
        with single_threaded_blas():
            began = time.process_time()
            post = ct.sample_trees(X, phi, n_samples=sweeps, n_warmup=WARMUP, random_state=0, progress=False)
            seconds = time.process_time() - began
        return cls(post.log_joint, post.draws.times[:, -1], clades_of(post.trees), seconds)

    @classmethod
    def of_beast(cls, program, name, X, moves, steps):
        stem = re.sub(r"\W+", "_", f"{name} {moves}")
        started = cpu_seconds(program, stem + "_start", X, moves, 1000)
        seconds = cpu_seconds(program, stem, X, moves, steps) - started
        log = np.genfromtxt(FOLDER / f"{stem}.log", names=True, skip_header=3)  # three lines of remarks
        log = log[round(BURN_IN * len(log)) :]
        trees = list(beast_trees(FOLDER / f"{stem}.trees"))
        trees = trees[round(BURN_IN * len(trees)) :]
        return cls(log["posterior"], log["rootHeight"], clades_of(trees), seconds)

    def rates(self):
        """Effective draws a second of the log joint, the root, and the median of clades that are not sure."""
        unsure = [draws for draws in self.clades.values() if UNSURE[0] <= draws.mean() <= UNSURE[1]]
        of_clades = np.median([effective(draws) for draws in unsure])
        return tuple(
            float(value) / self.seconds for value in (effective(self.log_joint), effective(self.root), of_clades)
        )

    def support(self, clade):
        """Share of draws with a clade, and its variance."""
        draws = self.clades.get(clade)
        if draws is None:
            return 0.0, 0.0
        mean = draws.mean()
        return mean, mean * (1.0 - mean) / max(effective(draws), 1.0)


def effective(draws):
    ess = scalar_figures(np.asarray(draws, float), np.zeros(len(draws), int))["ess"]
    return len(draws) if np.isnan(ess) else ess


def clades_of(trees):
    """{clade: (T,) whether each tree has it} of clades that are neither rare, nor single leaves, nor the root."""
    trees, seen = list(trees), {}
    for t, tree in enumerate(trees):
        members = {i: frozenset([int(label)]) for i, label in enumerate(tree.labels)}
        for k, (left, right) in enumerate(tree.children):
            members[tree.n + k] = members[left] | members[right]
            if k < tree.n - 2:
                seen.setdefault(members[tree.n + k], []).append(t)
    found = {}
    for clade, at in seen.items():
        if len(at) >= RARE * len(trees):
            found[clade] = np.zeros(len(trees), bool)
            found[clade][at] = True
    return found


def compared(ours, theirs):
    """Clades of some support, the largest difference with its half width, and the mean difference."""
    clades = [c for c in {*ours.clades, *theirs.clades} if max(ours.support(c)[0], theirs.support(c)[0]) >= SHOWN]
    pairs = [(ours.support(clade), theirs.support(clade)) for clade in clades]
    differences = np.abs([a[0] - b[0] for a, b in pairs])
    worst = int(np.argmax(differences))
    width = 1.96 * np.sqrt(pairs[worst][0][1] + pairs[worst][1][1])
    return len(clades), float(differences[worst]), float(width), float(differences.mean())


def cpu_seconds(program, stem, X, moves, steps):
    """Run BEAST; return its seconds of processor time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{stem}.xml").write_text(beast_xml(X, moves, steps, stem), encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "-java", "-threads", "1", "-seed", "1", "-overwrite", f"{stem}.xml"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 or not (FOLDER / f"{stem}.trees").exists():
        raise RuntimeError(f"BEAST could not run {stem}.xml:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def beast_trees(path: Path):
    """The trees of a NEXUS file of BEAST, whose leaves are named by number."""
    text = path.read_text(encoding="utf-8")
    names = dict(re.findall(r"^\s*(\d+) (\w+),?$", text, flags=re.MULTILINE))
    for newick in re.findall(r"^tree .*? = \[&R\] (.*;)$", text, flags=re.MULTILINE):
        tree = ct.Tree.from_newick(newick, tolerance=1e-6)
        labels = [names[label].removeprefix("t") for label in tree.labels]
        yield ct.Tree(tree.children, tree.times, labels=labels)


def beast_xml(X, moves, steps, stem):
    """What BEAST is asked: constant population of size 1, diffusion with the identity as its precision."""
    d = X.shape[1]
    taxa = "\n".join(
        f'<taxon id="t{i}"><attr name="x">{" ".join(repr(float(value)) for value in row)}</attr></taxon>'
        for i, row in enumerate(X)
    )
    precision = "\n".join(f'<parameter value="{" ".join(str(float(value)) for value in row)}"/>' for row in np.eye(d))
    every = max(1, steps // KEPT_TREES)
    return f"""<?xml version="1.0" standalone="yes"?>
<beast>
<taxa id="taxa">
{taxa}
</taxa>
<constantSize id="constant" units="years">
  <populationSize><parameter id="size" value="1.0"/></populationSize>
</constantSize>
<coalescentSimulator id="start"><taxa idref="taxa"/><constantSize idref="constant"/></coalescentSimulator>
<treeModel id="tree">
  <coalescentTree idref="start"/>
  <rootHeight><parameter id="rootHeight"/></rootHeight>
  <nodeHeights internalNodes="true"><parameter id="innerHeights"/></nodeHeights>
  <nodeHeights internalNodes="true" rootNode="true"><parameter id="allHeights"/></nodeHeights>
</treeModel>
<coalescentLikelihood id="coalescent">
  <model><constantSize idref="constant"/></model>
  <populationTree><treeModel idref="tree"/></populationTree>
</coalescentLikelihood>
<multivariateDiffusionModel id="diffusion">
  <precisionMatrix><matrixParameter id="precision">
{precision}
  </matrixParameter></precisionMatrix>
</multivariateDiffusionModel>
<multivariateTraitLikelihood id="trait" traitName="x" useTreeLength="false" scaleByTime="false"
    reportAsMultivariate="true" integrateInternalTraits="true">
  <multivariateDiffusionModel idref="diffusion"/>
  <treeModel idref="tree"/>
  <traitParameter><parameter id="leaf.x"/></traitParameter>
  <conjugateRootPrior>
    <meanParameter><parameter value="{" ".join(["0.0"] * d)}"/></meanParameter>
    <priorSampleSize><parameter value="1e-6"/></priorSampleSize>
  </conjugateRootPrior>
</multivariateTraitLikelihood>
<operators id="operators" optimizationSchedule="log">{MOVES[moves]}
</operators>
<mcmc id="mcmc" chainLength="{steps}" autoOptimize="true">
  <posterior id="posterior">
    <prior id="prior"><coalescentLikelihood idref="coalescent"/></prior>
    <likelihood id="likelihood"><multivariateTraitLikelihood idref="trait"/></likelihood>
  </posterior>
  <operators idref="operators"/>
  <log id="log" logEvery="{every}" fileName={quoteattr(stem + ".log")} overwrite="true">
    <posterior idref="posterior"/><parameter idref="rootHeight"/>
  </log>
  <logTree id="trees" logEvery="{every}" nexusFormat="true" fileName={quoteattr(stem + ".trees")}>
    <treeModel idref="tree"/>
  </logTree>
</mcmc>
</beast>
"""
