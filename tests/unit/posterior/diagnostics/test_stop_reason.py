"""Why a run stopped, in words."""

import pytest

from coaltree.posterior.diagnostics.stop_reason import in_a_line, what_to_increase

FIGURES = {"r_hat": 1.0123, "of_r_hat": "noise_level", "ess": 104.4, "of_ess": "log_joint", "topology_ess": 321.0}
TARGETS = {"r_hat_target": 1.02, "ess_target": 100.0}


def test_line_says_reason_and_figures():
    done = {"reason": "converged", "iterations": 1420, "thin": 1, "max_iterations": 4000, **FIGURES, **TARGETS}
    assert in_a_line(done, 30) == (
        "converged after 1,420 iterations per chain, 30 of them warm-up: R-hat at most 1.012 (noise level), "
        "effective sample sizes at least 104 (log joint), 321 of the topologies"
    )
    spent = done | {"reason": "max_iterations", "thin": 4, "r_hat": 1.05, "ess": 50.0}
    assert in_a_line(spent) == (
        "stopped at the maximum number of iterations after 1,420 iterations per chain, thinned by 4: R-hat at most "
        "1.050 (noise level; target 1.02), effective sample sizes at least 50 (log joint; target 100), "
        "321 of the topologies"
    )
    clock = done | {"reason": "max_seconds", "max_seconds": 60.0}
    assert in_a_line(clock).startswith("stopped at max_seconds (60 s) after 1,420 iterations per chain:")
    assert in_a_line({"reason": "interrupted", "iterations": 5}) == "interrupted after 5 iterations per chain"


@pytest.mark.parametrize("other", [None, "auto", {}, {"reason": "tired"}, {"reason": "converged", "iterations": "x"}])
def test_line_of_anything_else_is_none(other):
    assert in_a_line(other) is None


def test_what_to_increase_is_what_ended_the_run():
    assert what_to_increase(None) == ("n_warmup", "n_samples")
    assert what_to_increase({"reason": "max_iterations"}) == ("n_warmup", "n_samples")
    assert what_to_increase({"reason": "max_seconds"}) == ("max_seconds",)
