import pytest

from tests.browser.chromium import Browser, find_browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    executable = find_browser()
    if executable is None:
        pytest.skip("no Chromium on PATH (Debian: apt-get install chromium), and COALTREE_BROWSER names none")
    started = Browser(executable, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()
