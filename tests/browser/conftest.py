import pytest

from tests.browser.chromium import FLAGS, TIMEOUT, Windows, find_browser


@pytest.fixture(scope="session")
def windows():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = find_browser()
    if executable is None:
        pytest.skip("no Chromium on PATH (Debian: apt-get install chromium), and COALTREE_BROWSER names none")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=executable, args=FLAGS, timeout=TIMEOUT)
        yield Windows(started)
        started.close()
