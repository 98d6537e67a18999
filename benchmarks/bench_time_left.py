"""What a run says of the time it still takes, and what it then took.

Runs of the default length, as long as needed, say a range, from the next look at the draws to the end of what they may
spend; "about" only where one number is right within a factor of 1.5, and "perhaps" of what the last look projects.
"""

import time
import warnings
from typing import ClassVar

from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs

import coaltree as ct
from coaltree._runtime.progress import Progress

from .timing import table

RUNS = {
    "iris": (lambda: load_iris().data, {}),
    "wine": (lambda: load_wine().data, {}),
    "breast cancer, at most 300 rounds": (lambda: load_breast_cancer().data, {"max_iterations": 300}),
    "2,000 x 8 blobs, at most 150 rounds": (
        lambda: make_blobs(2000, 8, centers=6, random_state=0)[0],
        {"max_iterations": 150},
    ),
    "iris, 500 rounds": (lambda: load_iris().data, {"n_samples": 400, "n_warmup": 100}),
}
BRIEFLY = {"RUNS": {"wine, at most 150 rounds": (lambda: load_wine().data, {"max_iterations": 150})}}
SHARES = (0.1, 0.25, 0.5, 0.75)


class Listening(Progress):
    """A bar that shows nothing and notes what it is told, and when."""

    said: ClassVar[list[tuple[float, str]]] = []

    def show(self, done, total, words=""):
        self.said.append((time.perf_counter(), words))


def watched(X, settings):
    """When a run began, what it said and when, and its end."""
    from coaltree.inference import fit as module

    original, Listening.said = module.Progress, []
    module.Progress = Listening
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            post = ct.fit(X, random_state=0, progress=False, **settings)
    finally:
        module.Progress = original
    return began, Listening.said, post


def run():
    watched(load_iris().data, {"n_samples": 2, "n_warmup": 2})  # compiles
    rows = []
    for name, (make, settings) in RUNS.items():
        began, said, post = watched(make(), settings)
        end = said[-1][0]
        for share in SHARES:
            at = began + share * (end - began)
            when, words = max((one for one in said if one[0] <= at), default=(began, ""))
            rows.append((name, f"{share:.0%}", words or "nothing yet", f"{end - when:.0f} s"))
            name = ""
        stopped = post.info.get("stopping", {}).get("rounds")
        known = post.info["estimate"].get("seconds")
        first = "" if known is None else f'; the first "about" was {known / (end - began):.2f} of it'
        rows.append(("", "end", f"{end - began:.0f} s{'' if stopped is None else f', {stopped} rounds'}{first}", ""))
    table(("run", "after", "it said", "and took"), rows)


if __name__ == "__main__":
    run()
