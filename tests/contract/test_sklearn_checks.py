"""scikit-learn's own checks of an estimator; none is expected to fail."""

import pytest

from coaltree import CoalescentClustering

estimator_checks = pytest.importorskip("sklearn.utils.estimator_checks")

# Fewer draws than the defaults, as the checks fit some 70 times and look at interfaces only.
SHORT = CoalescentClustering(2, n_samples=3, n_warmup=2, n_chains=1)
MISSING = CoalescentClustering(covariance="diagonal", n_samples=4, n_warmup=3, n_chains=2, noise=0.1)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
@estimator_checks.parametrize_with_checks([SHORT])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
@pytest.mark.parametrize(
    "check", ["check_clustering", "check_estimators_pickle", "check_methods_subset_invariance", "check_fit_idempotent"]
)
def test_sklearn_checks_with_other_settings(check):
    given = MISSING.get_params()
    getattr(estimator_checks, check)("CoalescentClustering", MISSING)
    assert MISSING.get_params() == given


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_sklearn_checks_see_a_broken_estimator():
    class Broken(CoalescentClustering):
        def fit(self, X, y=None):
            self.n_clusters = 3  # a parameter is not fit's to change
            return super().fit(X)

    with pytest.raises(AssertionError, match="mutate"):
        estimator_checks.check_estimators_overwrite_params("Broken", Broken(n_samples=4, n_warmup=1))
