"""Why a run stopped, in words."""

import pytest

from coaltree.posterior.diagnostics.stop_reason import in_a_line, what_to_increase

FIGURES = {"r_hat": 1.0123, "of_r_hat": "noise_level", "ess": 104.4, "of_ess": "log_joint", "topology_ess": 321.0}
TARGETS = {"r_hat_target": 1.02, "ess_target": 100.0}


def test_the_reason_and_the_figures_are_said():
    done = {"reason": "converged", "rounds": 1420, "thin": 1, "max_iterations": 4000, **FIGURES, **TARGETS}
    assert in_a_line(done, 30) == (
        "converged after 1,420 rounds of each chain, 30 of them warm-up: R-hat at most 1.012 (noise_level), "
        "effective sample sizes at least 104 (log joint), 321 of the topologies"
    )
    spent = done | {"reason": "max_iterations", "thin": 4, "r_hat": 1.05, "ess": 50.0}
    assert in_a_line(spent) == (
        "stopped where max_iterations were spent, after 1,420 rounds of each chain, one in 4 kept: R-hat at most 1.050 "
        "(noise_level; target 1.02), effective sample sizes at least 50 (log joint; target 100), 321 of the topologies"
    )
    clock = done | {"reason": "max_seconds", "max_seconds": 60.0}
    assert in_a_line(clock).startswith("stopped where max_seconds (60 s) were spent, after 1,420 rounds of each chain:")
    assert in_a_line({"reason": "interrupted", "rounds": 5}) == "interrupted after 5 rounds of each chain"


@pytest.mark.parametrize("other", [None, "auto", {}, {"reason": "tired"}, {"reason": "converged", "rounds": "x"}])
def test_other_things_are_not_read(other):
    assert in_a_line(other) is None


def test_what_ended_a_run_is_what_to_increase():
    assert what_to_increase(None) == ("n_warmup", "n_samples")
    assert what_to_increase({"reason": "max_iterations"}) == ("max_iterations",)
    assert what_to_increase({"reason": "max_seconds"}) == ("max_seconds",)
