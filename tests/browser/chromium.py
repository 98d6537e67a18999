"""A real browser for the tests: the system's Chromium, driven by Playwright, and what a person does with a page."""

import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--force-color-profile=srgb",
)  # fmt: skip
TIMEOUT = 60_000  # milliseconds for any one answer


def find_browser():
    """The path of a Chromium, from COALTREE_BROWSER or from PATH, or None."""
    named = os.environ.get("COALTREE_BROWSER")
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, NAMES)), None)


class Window:
    """A window with settings of its own, and all that its pages complain of and ask for."""

    def __init__(self, browser, settings):
        self.context = browser.new_context(**settings)
        self.context.set_default_timeout(TIMEOUT)
        self.page = self.context.new_page()
        self.complaints, self.asked = [], []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _heard(self, message):
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(message.text)

    def clear(self):
        """As if it were new: another page, no pointer above anything, nothing heard."""
        self.page.mouse.move(0, 0)
        self.page.goto("about:blank")
        self.complaints.clear()
        self.asked.clear()


class Windows:
    """Windows of a browser: one that a page has left is used again, since a new one costs more than the page."""

    def __init__(self, browser):
        self._browser = browser
        self._free = {}

    def take(self, **settings):
        free = self._free.setdefault(str(settings), [])
        return free.pop() if free else Window(self._browser, settings)

    def give_back(self, window, **settings):
        window.clear()
        self._free[str(settings)].append(window)


class Page:
    """A file opened in a window of its own; a calm reader has asked for no animations."""

    def __init__(self, windows, path, *, width=1280, height=900, mobile=False, dark=False, calm=True):
        self._windows = windows
        self._settings = {
            "viewport": {"width": width, "height": height},
            "device_scale_factor": 2 if mobile else 1,
            "is_mobile": mobile,
            "has_touch": mobile,
            "color_scheme": "dark" if dark else "light",
            "reduced_motion": "reduce" if calm else "no-preference",
        }
        self._window = windows.take(**self._settings)
        self._page = self._window.page
        self._is_changed = False
        self._page.goto(Path(path).absolute().as_uri())
        self.settle()

    def call(self, method, **parameters):
        """A command of Chromium's own protocol, after which nobody else should have the window."""
        self._is_changed = True
        session = self._window.context.new_cdp_session(self._page)
        try:
            return session.send(method, parameters)
        finally:
            session.detach()

    def evaluate(self, expression):
        """The value of a JavaScript expression (or of its promise), whatever the page's policy says of scripts."""
        return self._page.evaluate(f"() => ({expression})")

    def wait(self, condition):
        """Wait until a JavaScript condition holds."""
        self._page.wait_for_function(f"() => Boolean({condition})")

    def settle(self):
        """Let a calm page draw what was asked for."""
        self.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 10))))")

    def text(self, selector):
        return self._page.text_content(selector)

    def box(self, selector):
        """Left, top, width and height of an element, scrolled into view."""
        return self._page.eval_on_selector(
            selector,
            "e => { e.scrollIntoView({block: 'center', behavior: 'instant'}); const b = e.getBoundingClientRect();"
            "return [b.left, b.top, b.width, b.height]; }",
        )

    def move(self, x, y):
        self._page.mouse.move(x, y)

    def drag(self, x, y, to):
        self._page.mouse.move(x, y)
        self._page.mouse.down()
        self._page.mouse.move(*to, steps=4)
        self._page.mouse.up()

    def click(self, selector):
        left, top, width, height = self.box(selector)
        self._page.mouse.click(left + width / 2, top + height / 2)

    def wheel(self, x, y, delta, ctrl=False):
        self._page.mouse.move(x, y)
        if ctrl:
            self._page.keyboard.down("Control")
        self._page.mouse.wheel(0, delta)
        if ctrl:
            self._page.keyboard.up("Control")

    def tap(self, x, y):
        self._page.touchscreen.tap(x, y)

    def key(self, key):
        """Press and release a key, given by its name (ArrowLeft, Enter, Tab, +)."""
        self._page.keyboard.press(key)

    def type(self, text):
        self._page.keyboard.insert_text(text)

    def complaints(self):
        """What the page printed as a warning or an error, and what it threw."""
        return list(self._window.complaints)

    def requests(self):
        """Addresses asked for, the page itself and what it carries within apart."""
        return [url for url in self._window.asked if not url.startswith(("file:", "data:", "blob:"))]

    def files_read(self):
        return [url for url in self._window.asked if url.startswith("file:")]

    def close(self):
        if self._is_changed:
            self._window.context.close()
        else:
            self._windows.give_back(self._window, **self._settings)
