"""A real browser for the tests: headless Chromium, spoken to in its DevTools protocol over a pair of pipes.

Messages are JSON, each ended by a zero byte; Chromium reads them from its file 3 and answers on 4. So nothing needs to
be installed but the browser itself, no port is opened, and the browser ends with the pipes.
"""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_KEY_CODES = {
    "Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip
TIMEOUT = 60.0  # seconds for any one answer

# Chromium wants the pipes as files 3 and 4, which Popen cannot promise: a moment of Python puts them there.
_LAUNCH = "import os, sys; r, w, *run = sys.argv[1:]; os.dup2(int(r), 3); os.dup2(int(w), 4); os.execv(run[0], run)"


def find_browser():
    """The path of a Chromium, from COALTREE_BROWSER or from PATH, or None."""
    named = os.environ.get("COALTREE_BROWSER")
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One Chromium process; `open` makes pages in it."""

    def __init__(self, executable, profile):
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        passed = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs_in, theirs_out)]
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, *map(str, passed), executable, *flags, "about:blank"],
            pass_fds=passed,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (theirs_in, theirs_out, *passed):
            os.close(fd)
        self._buffer = b""
        self._number = 0
        self._pages = {}
        self.version = self.call("Browser.getVersion")["product"]

    def call(self, method, session=None, **parameters):
        """Send a command and return its result; events that come before it go to their pages."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        self._send(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if answer.get("sessionId") in self._pages:
                self._pages[answer["sessionId"]].events.append(answer)

    def _send(self, data):
        while data:
            data = data[os.write(self._out, data) :]

    def _read(self):
        end = time.monotonic() + TIMEOUT
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"Chromium did not answer within {TIMEOUT:.0f} s")
            more = os.read(self._in, 1 << 20)
            if not more:
                raise RuntimeError(f"Chromium has ended (status {self._process.poll()})")
            self._buffer += more
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, path, *, width=1280, height=900, mobile=False, dark=False, calm=True):
        """Open a file in a new page of this size; a calm reader has asked for no animations."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self._pages[session] = page
        page.load(path, width, height, mobile, dark, calm)
        return page

    def close(self):
        with contextlib.suppress(RuntimeError, OSError, TimeoutError):
            self.call("Browser.close")
        for fd in (self._out, self._in):
            os.close(fd)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Page:
    """A page, and what a person does with it."""

    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self.events = []

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def load(self, path, width, height, mobile, dark, calm):
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height, mobile)
        self.prefer(dark, calm)
        self.call("Page.navigate", url=Path(path).absolute().as_uri())
        self.wait("document.readyState === 'complete'")
        self.settle()

    def resize(self, width, height, mobile=False):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if mobile else 1,
            mobile=mobile,
        )  # fmt: skip
        self.call("Emulation.setTouchEmulationEnabled", enabled=mobile)

    def prefer(self, dark, calm):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"}
        self.call("Emulation.setEmulatedMedia", features=[scheme, motion])

    def evaluate(self, expression):
        """The value of a JavaScript expression (or of its promise)."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", str(answer)))
        return answer["result"].get("value")

    def wait(self, condition):
        """Wait until a JavaScript condition holds."""
        end = time.monotonic() + TIMEOUT
        while not self.evaluate(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition} did not come true within {TIMEOUT:.0f} s")
            time.sleep(0.02)

    def settle(self):
        """Let a calm page draw what was asked for."""
        self.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 10))))")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    def box(self, selector):
        """Left, top, width and height of an element, scrolled into view."""
        return self.evaluate(
            f"(e => {{ e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const b = e.getBoundingClientRect();"
            f"return [b.left, b.top, b.width, b.height]; }})(document.querySelector({json.dumps(selector)}))"
        )

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, x, y, to=None, clicks=1):
        """Click, or drag to another point."""
        self.move(x, y)
        common = {"button": "left", "clickCount": clicks}
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, buttons=1, **common)
        if to is not None:
            for share in (0.25, 0.5, 0.75, 1.0):
                x1, y1 = x + share * (to[0] - x), y + share * (to[1] - y)
                self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x1, y=y1, button="left", buttons=1)
            x, y = to
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **common)

    def click(self, selector):
        left, top, width, height = self.box(selector)
        self.press(left + width / 2, top + height / 2)

    def wheel(self, x, y, delta, ctrl=False):
        self.call(
            "Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta, modifiers=2 if ctrl else 0
        )

    def tap(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, key, shift=False):
        """Press and release a key, given by its name (ArrowLeft, Enter, Tab, +)."""
        parameters = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": _KEY_CODES.get(key, 0),
            "modifiers": 8 if shift else 0,
        }
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **parameters, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def complaints(self):
        """What the page printed as a warning or an error, and what it threw."""
        found = []
        for event in self.events:
            method, values = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = values["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
                found.append(str([argument.get("value") for argument in values["args"]]))
            elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
                found.append(values["entry"]["text"])
        return found

    def requests(self):
        """Addresses asked for, the page itself and what it carries within apart."""
        asked = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]

    def files_read(self):
        asked = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if url.startswith("file:")]

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)
        self._browser._pages.pop(self._session, None)
