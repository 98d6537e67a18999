import pytest

from coaltree.report import report_html
from tests.browser.posteriors import chain_posterior, leaf_names


@pytest.fixture(scope="session")
def posterior():
    return chain_posterior(40, 6, 50, labels=leaf_names(40), noise=0.6)


@pytest.fixture(scope="session")
def page(posterior):
    return report_html(posterior, n_clusters=4)
