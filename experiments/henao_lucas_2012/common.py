"""What the experiments share: arguments, data, replicates, a stopwatch, and the page that each of them writes."""

import argparse
import csv
import math
import os
import platform
import time
import warnings
from collections import defaultdict
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing import current_process
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import coaltree as ct

from .paper import FASTER, Figure

FOLDER = Path(__file__).parent

# --- arguments and data ---------------------------------------------------------------------------------------------


def parser(description):
    text = (description or "").strip()
    arguments = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--replicates", type=int, help="data sets of each kind; by default as many as in the paper")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: all cores)")
    arguments.add_argument("--data", type=Path, help="folder with the real data (default: COALTREE_DATA)")
    arguments.add_argument("--out", type=Path, help="folder for the results (default: results/, results-quick/)")
    return arguments


def main(run, description):
    """What a script does when it is called by itself."""
    options = parser(description).parse_args()
    try:
        run(options)
    except MissingData as missing:
        raise SystemExit(str(missing)) from None


def out_folder(options):
    """Where results go: a quick look never overwrites the full run's."""
    folder = options.out or FOLDER / ("results" if options.replicates is None else "results-quick")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class MissingData(Exception):
    """A data set is not there; the text says where to get it."""


_SOURCES = {
    "usps.npz": """\
    from sklearn.datasets import fetch_openml
    images, labels = fetch_openml(data_id=41082, as_frame=False, return_X_y=True)   # OpenML 41082, 9298 x 256
    numpy.savez_compressed("usps.npz", X=images.astype("f4"), y=labels.astype(int) - 1)""",
    "mocap_run1.npz": """\
    https://github.com/lawrennd/datasets_mirror/raw/main/osu_accad/run1TXT.ZIP   (OSU ACCAD, "Figure Run 1";
    or pods.datasets.osu_run1()): tab-separated, -9999.99 is missing. Save the 34 markers seen in all 217 frames as
    X (102, 217), one row per coordinate, with names 'MARKER:X', 'MARKER:Y', 'MARKER:Z'.""",
    "yeast_cellcycle.npz": """\
    data/yeast.rda of the R package kohonen (https://github.com/cran/kohonen), or the Bioconductor package yeastCC.
    Save X (800, 73) with NaN for missing, genes, phase (800,), and experiment and time_min (73,) of the columns.""",
}


def load(options, name):
    """The arrays of a data file as a dict."""
    folder = options.data or os.environ.get("COALTREE_DATA")
    path = Path(folder) / name if folder else None
    if path is None or not path.exists():
        raise MissingData(
            f"{name} was not found (--data or COALTREE_DATA names the folder: {folder or 'neither is set'}). "
            f"To get it:\n{_SOURCES[name]}"
        )
    with np.load(path) as file:
        return {key: file[key] for key in file.files}


# --- replicates and time --------------------------------------------------------------------------------------------


def replicate(function, cases, options):
    """Call `function(*case)` for all cases through joblib; each returns a list of records (dicts)."""
    with Parallel(n_jobs=options.jobs) as parallel:
        return [
            record for records in parallel(delayed(_quietly)(function, case) for case in cases) for record in records
        ]


@contextmanager
def quiet():
    """Without warnings: chains as short as the paper's do not mix, and the pages say so in numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        warnings.simplefilter("ignore", ct.ConvergenceWarning)
        yield


def _quietly(function, case):
    # Threads of BLAS go on spinning for a while after a product, and the seconds that they burn would be counted.
    with quiet(), threadpool_limits(1, user_api="blas"):
        return function(*case)


@contextmanager
def one_core():
    """Keep this process on one core, a worker on its own, as the paper's times are of a single core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    digits = "".join(c for c in current_process().name if c.isdigit())
    os.sched_setaffinity(0, {sorted(before)[int(digits or 0) % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def timed(function):
    """(result, CPU seconds) of a call on one core; other work on the machine does not count, compiling does."""
    with one_core():
        began = time.process_time()
        result = function()
        return result, time.process_time() - began


_warm = set()


def timed_warm(key, function, rehearsal):
    """`timed`, with a small `rehearsal` before the first call of its kind in this process, so that nothing compiles."""
    if key not in _warm:
        rehearsal()
        _warm.add(key)
    return timed(function)


# --- numbers --------------------------------------------------------------------------------------------------------


def summarise(records, by):
    """{values of `by`: {column: Figure}} of the numeric columns, over the records that share them."""
    groups = defaultdict(list)
    for record in records:
        groups[tuple(record[name] for name in by)].append(record)
    summary = {}
    for key, group in groups.items():
        columns = [c for c, value in group[0].items() if c not in by and isinstance(value, (int, float))]
        summary[key] = {c: figure([record[c] for record in group if c in record]) for c in columns}
    return summary


def figure(values):
    values = np.asarray(values, dtype=float)
    return Figure(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else math.nan)


def text(number):
    """A Figure as mean ± sd, another number with three digits."""
    if isinstance(number, Figure):
        return text(number.mean) + ("" if math.isnan(number.sd) else f" ± {number.sd:.2g}")
    return number if isinstance(number, str) else f"{number:.3g}"


def signed(mean, standard_error):
    """A difference with its standard error, where there is one."""
    return f"{mean:+.2g}" + ("" if math.isnan(standard_error) else f" ± {standard_error:.2g}")


def seconds_text(seconds):
    return f"{seconds / 60:.1f} min" if seconds >= 120 else f"{seconds:.3g} s"


def structure_errors(post, tree):
    """Errors of log merge times and log distances, of the posterior mean and of single draws."""
    record = {}
    for of in ("mean", "draws"):
        for quantity, errors in (("time", ct.metrics.time_errors), ("distance", ct.metrics.distance_errors)):
            for measure, value in errors(post, tree, of=of)._asdict().items():
                record[f"{quantity}_{measure}_{of}"] = value
    return record


def agreement(tree, classes, suffix=""):
    """Subtree score and area under the ARI curve."""
    return {
        f"subtree{suffix}": ct.metrics.subtree_score(tree, classes),
        f"area{suffix}": ct.metrics.ari_auc(tree, classes),
    }


def permutation_reference(tree, classes, rng, n_permutations=200):
    """Subtree score and area for classes dealt out at random to the same leaves: (mean, 97.5 % quantile) of each."""
    draws = [agreement(tree, rng.permutation(classes)) for _ in range(n_permutations)]
    found = {}
    for name in draws[0]:
        values = [draw[name] for draw in draws]
        found[name] = (float(np.mean(values)), float(np.quantile(values, 0.975)))
    return found


def log_average_tree(post):
    """Average linkage of the posterior mean log cophenetic time: a summary that no single draw need look like."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    mean = post.cophenetic(log=True)
    pairs = mean[np.triu_indices(post.n, 1)]
    mean = mean - pairs.min()  # linkage wants distances; order and averages do not mind the shift
    np.fill_diagonal(mean, 0.0)
    return ct.Tree.from_linkage(linkage(squareform(mean, checks=False), "average"), post.labels)


def linkage_tree(X, method, labels=None, metric="euclidean"):
    from scipy.cluster.hierarchy import linkage

    return ct.Tree.from_linkage(linkage(X, method, metric=metric), labels)


# --- the page -------------------------------------------------------------------------------------------------------


class Page:
    """A Markdown page with its tables, checks, figures and CSV files."""

    def __init__(self, name, title, options, replicates):
        self.name, self.folder = name, out_folder(options)
        self.replicates, self.jobs, self.began = replicates, options.jobs, time.perf_counter()
        self.parts = [f"# {title}"]

    def say(self, sentence):
        self.parts.append(sentence)

    def heading(self, words):
        self.parts.append(f"## {words}")

    def table(self, header, rows):
        lines = [header, ["---"] * len(header), *rows]
        self.parts.append("\n".join("| " + " | ".join(text(cell) for cell in line) + " |" for line in lines))

    def checks(self, found):
        """Items (what, reached or not, and by what numbers)."""
        self.heading("What was to be reached")
        self.table(
            ["goal", "", "seen"], [[what, "reached" if ok else "**not reached**", seen] for what, ok, seen in found]
        )

    def csv(self, records, name=None):
        path = self.folder / f"{name or self.name}.csv"
        columns = list(dict.fromkeys(column for record in records for column in record))
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            for record in records:
                values = [record.get(column, "") for column in columns]
                writer.writerow([f"{v:.5g}" if isinstance(v, float) else v for v in values])
        self.parts.append(f"Numbers: `{path.name}`")

    def figure(self, drawn, name, caption):
        drawn.savefig(self.folder / f"{name}.png", dpi=90)
        from matplotlib import pyplot

        pyplot.close(drawn)
        self.parts.append(f"![{caption}]({name}.png)\n\n*{caption}*")

    def write(self):
        spent = time.perf_counter() - self.began
        self.parts.append(
            f"---\n{self.replicates}; {seconds_text(spent)} in {_processes(self.jobs)}. {machine()}. "
            f"Written by `python -m experiments.henao_lucas_2012.{self.name}`."
        )
        path = self.folder / f"{self.name}.md"
        path.write_text("\n\n".join(self.parts) + "\n")
        print(f"{path.name}: {seconds_text(spent)}", flush=True)


def _processes(jobs):
    return "one process" if jobs == 1 else f"{jobs} processes"


def machine():
    """The processor, and the versions that the numbers depend on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("coaltree", "numpy", "scipy", "numba", "scikit-learn"))
    return f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}"


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


# --- tables 1 to 3 --------------------------------------------------------------------------------------------------

MEASURES = [(quantity, measure) for quantity in ("time", "distance") for measure in ("mse", "mae", "mab")]


def error_tables(page, summary, printed, sizes, samplers):
    """One table for each of the two readings of "error", ours above the paper's."""
    for of, words in (("mean", "the posterior mean"), ("draws", "single draws (their average)")):
        page.heading(f"Errors of log times and log distances: of {words}")
        rows = []
        for n in sizes:
            for quantity, measure in MEASURES:
                column = f"{quantity}_{measure}_{of}"
                rows.append([f"n = d = {n}", f"{quantity} {measure}", *(summary[n, s][column] for s in samplers)])
                theirs = printed[n, quantity, measure]
                rows.append(["", "*paper*", *(f"*{text(theirs[s])}*" if s in theirs else "" for s in samplers)])
        page.table(["", "", *samplers], rows)


def exactness_table(page, summary, sizes, samplers):
    """Of an exact posterior, a draw errs as much about the mean as the truth does: twice the mean's squared error."""
    page.heading("Do the draws spread as the truth does?")
    page.say(
        "The truth is itself a draw from the posterior. So the squared error of single draws should be twice that of "
        "the posterior mean; a ratio near 1 means that the draws are nearly all alike (particles with few ancestors), "
        "and that the errors of such draws are not those of a posterior."
    )
    rows = []
    for n in sizes:
        for quantity in ("time", "distance"):
            ratios = [
                summary[n, s][f"{quantity}_mse_draws"].mean / summary[n, s][f"{quantity}_mse_mean"].mean
                for s in samplers
            ]
            rows.append([f"n = d = {n}", f"{quantity} mse, draws / mean", *ratios])
    page.table(["", "", *samplers], rows)


def cost_table(page, summary, printed, sizes, samplers):
    page.heading("CPU seconds on one core")
    rows = []
    for n in sizes:
        theirs = printed[n, "cost", "rt"]
        rows.append([f"n = d = {n}", "ours", *(summary[n, s]["cpu_seconds"] for s in samplers)])
        rows.append(["", "*paper*", *(f"*{text(theirs[s])}*" if s in theirs else "" for s in samplers)])
        ratios = [f"{theirs[s].mean / summary[n, s]['cpu_seconds'].mean:.0f}" if s in theirs else "" for s in samplers]
        rows.append(["", "times faster", *ratios])
    page.table(["", "", *samplers], rows)


def error_checks(summary, printed, sizes, judged, samplers):
    """`judged` samplers at or below the paper's mean; regrafting below all `samplers`; all fifty times faster."""
    found = []
    for of, words in (("mean", "the posterior mean"), ("draws", "single draws")):
        for sampler in judged:
            above = []
            for n in sizes:
                for quantity, measure in MEASURES:
                    ours = summary[n, sampler][f"{quantity}_{measure}_{of}"].mean
                    theirs = printed[n, quantity, measure][sampler].mean
                    if ours > theirs:
                        above.append(f"n = {n} {quantity} {measure} {text(ours)} > {text(theirs)}")
            total = len(sizes) * len(MEASURES)
            seen = f"{total - len(above)} of {total}" + ("; above: " + ", ".join(above) if above else "")
            found.append((f"{sampler}: errors of {words} at or below the paper's mean", not above, seen))
    rivals = [s for s in samplers if s not in ("Regraft", "Insertion")]
    for of, words in (("mean", "the posterior mean"), ("draws", "single draws")):
        above = []
        for n in sizes:
            for quantity, measure in MEASURES:
                column = f"{quantity}_{measure}_{of}"
                ours = summary[n, "Regraft"][column].mean
                best = min(rivals, key=lambda s: summary[n, s][column].mean)
                if ours >= summary[n, best][column].mean:
                    lowest = text(summary[n, best][column].mean)
                    above.append(f"n = {n} {quantity} {measure} {text(ours)}, {best} {lowest}")
        total = len(sizes) * len(MEASURES)
        seen = f"{total - len(above)} of {total}" + ("; not: " + ", ".join(above) if above else "")
        found.append((f"Regrafting's errors of {words} below those of {', '.join(rivals)}", not above, seen))
    return found + speed_checks(
        {
            f"{s}, n = d = {n}": (printed[n, "cost", "rt"][s].mean, summary[n, s]["cpu_seconds"].mean)
            for n in sizes
            for s in samplers
            if s in printed[n, "cost", "rt"]
        }
    )


def speed_checks(seconds):
    """{what: (the paper's seconds, ours)}"""
    return [
        (f"{what}: {FASTER:.0f} times faster", theirs >= FASTER * ours, f"{theirs / ours:.0f} times")
        for what, (theirs, ours) in seconds.items()
    ]


# --- pictures -------------------------------------------------------------------------------------------------------


def ari_curves(trees, classes):
    """Draw the adjusted Rand index against the share of clusters, one line for each tree, with the areas under them."""
    from matplotlib import pyplot

    axes = pyplot.subplots(figsize=(4.5, 3.4), layout="constrained")[1]
    for i, (name, tree) in enumerate(trees.items()):
        curve = ct.metrics.ari_curve(tree, classes)
        share = curve.n_clusters / curve.n_clusters[-1]
        label = f"{name}: {ct.metrics.ari_auc(curve):.2f}"
        axes.plot(share, curve.ari, color=f"C{i}", ls=("-", "--")[i // 10], lw=1.5, label=label)
    axes.set(xlim=(0, 1), ylim=(None, 1.02), xlabel="clusters / leaves", ylabel="adjusted Rand index")
    axes.legend(frameon=False, loc="lower right", title="area under the curve", fontsize=8, title_fontsize=8)
    return axes
