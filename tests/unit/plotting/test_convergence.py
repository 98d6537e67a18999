"""Trace plots."""

import numpy as np
import pytest

from coaltree import InputError, plotting


def test_convergence_has_a_line_for_each_chain(posterior):
    axes = plotting.convergence(posterior)
    assert [ax.get_ylabel() for ax in axes] == ["log joint", "root time", "variance"]  # a matrix has no trace
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), [0, 1, 2, 3])
    np.testing.assert_array_equal(axes[0].lines[1].get_ydata(), [4, 5, 6, 7])
    np.testing.assert_array_equal(axes[1].lines[1].get_ydata(), [tree.times[-1] for tree in posterior.trees][4:])
    assert len(plotting.convergence(posterior, ["variance"])) == 1
    with pytest.raises(InputError, match=r"names must be among log_joint, root_time, .*variance.*not 'length2'"):
        plotting.convergence(posterior, ["length2"])
