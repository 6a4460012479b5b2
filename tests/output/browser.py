"""A real browser for tests: Chromium without a window, spoken to over two pipes.

The browser's own protocol (Chrome DevTools) needs neither a driver program that must fit the
browser's version nor a port: messages are JSON, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: Long enough for a machine that does many other things.
PATIENCE = 60.0
#: How the browser's protocol writes that the key is held.
SHIFT = 8

_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",  # which does not work for root
    "--disable-dev-shm-usage",  # small in containers
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
    "--mute-audio",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # nothing leaves this machine
)
# The browser reads descriptor 3 and writes descriptor 4.
_START = (
    "import os, sys; read, write = map(int, sys.argv[1:3]); os.dup2(read, 3); os.dup2(write, 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)


def find_browser() -> str | None:
    """Where the browser is; ``CHROMIUM`` in the environment comes first."""
    names = (os.environ.get("CHROMIUM", ""), *NAMES)
    return next((path for name in names if name and (path := shutil.which(name))), None)


class BrowserError(Exception):
    """The browser refused, failed or took too long."""


class Browser:
    """A running Chromium.

    Parameters
    ----------
    program : str
        From `find_browser`.
    folder : Path
        Empty; the browser's profile, gone when the test's folder goes.
    """

    def __init__(self, program: str, folder: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # Out of the way of the numbers they will get.
        high = [fcntl(fd, F_DUPFD, 10) for fd in (to_browser, from_browser)]
        os.close(to_browser)
        os.close(from_browser)
        start = [sys.executable, "-c", _START, *map(str, high), program, *_FLAGS]
        self._process = subprocess.Popen(
            [*start, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=high,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
        )
        for fd in high:
            os.close(fd)
        self._rest = b""
        self._number = 0
        #: What the browser told without being asked, in order.
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(BrowserError, OSError):
            self.ask("Browser.close")
        for fd in (self._out, self._in):
            os.close(fd)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer; events that come before it are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        deadline = time.monotonic() + PATIENCE
        while True:
            told = self._read(deadline, method)
            if told.get("id") != self._number:
                self.events.append(told)
            elif "error" in told:
                raise BrowserError(f"{method}: {told['error']['message']}")
            else:
                answer: dict[str, Any] = told["result"]
                return answer

    def _read(self, deadline: float, waiting_for: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            wait = deadline - time.monotonic()
            if wait <= 0 or not select.select([self._in], [], [], wait)[0]:
                raise BrowserError(f"no answer to {waiting_for} within {PATIENCE:.0f} s")
            more = os.read(self._in, 1 << 20)
            if not more:
                raise BrowserError(f"the browser ended before it answered {waiting_for}")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def page(self, width: int = 1280, height: int = 900) -> Page:
        """Open an empty page that shares nothing with others."""
        context = self.ask("Target.createBrowserContext")["browserContextId"]
        target = self.ask("Target.createTarget", url="about:blank", browserContextId=context)
        attached = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        return Page(self, attached["sessionId"], context, width, height)


class Page:
    """A page in the browser, with hands and eyes."""

    def __init__(
        self, browser: Browser, session: str, context: str, width: int, height: int
    ) -> None:
        self._browser, self._session, self._context = browser, session, context
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *error: object) -> None:
        self._browser.ask("Target.disposeBrowserContext", browserContextId=self._context)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.ask(method, self._session, **parameters)

    # -- going -----------------------------------------------------------------------------------

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        self.ask("Emulation.setTouchEmulationEnabled", enabled=mobile)

    def prefer(self, scheme: str) -> None:
        """Ask for a light or dark page, as a system setting would."""
        wish = {"name": "prefers-color-scheme", "value": scheme}
        self.ask("Emulation.setEmulatedMedia", features=[wish])

    def allow(self, *permissions: str) -> None:
        """Grant what a person would be asked for."""
        self._browser.ask(
            "Browser.grantPermissions", permissions=permissions, browserContextId=self._context
        )
        self.ask("Page.bringToFront")

    def open(
        self, path: Path, ready: str = "document.documentElement.dataset.ready === 'true'"
    ) -> None:
        """Open a file and wait until the report on it is ready; forget what was told before."""
        told = self._browser.events
        told[:] = [event for event in told if event.get("sessionId") != self._session]
        self.ask("Page.navigate", url=path.absolute().as_uri())
        self.wait_for(ready)

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            # While a page is being replaced there is nobody to ask.
            with suppress(BrowserError):
                if self.run(condition):
                    return
            time.sleep(0.02)
        raise BrowserError(f"never true: {condition}\n{self.complaints()}")

    # -- looking ---------------------------------------------------------------------------------

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; promises are waited for."""
        told = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in told:
            raise BrowserError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def text(self, selector: str) -> str:
        """The text of the first element that is shown and fits a selector."""
        # Elements of a drawing have no innerText.
        return str(self.run(f"(e => e.innerText ?? e.textContent)({_first(selector)})"))

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that fit a selector, shown or not."""
        all_of = f"Array.from(document.querySelectorAll({json.dumps(selector)}))"
        found: list[str] = self.run(f"{all_of}.map(e => e.textContent)")
        return found

    def _mine(self, method: str) -> list[dict[str, Any]]:
        self.run("0")  # what was told before this answer has arrived
        return [
            event["params"]
            for event in self._browser.events
            if event.get("sessionId") == self._session and event["method"] == method
        ]

    def complaints(self) -> list[str]:
        """Errors and warnings: uncaught, logged by the page, or told by the browser."""
        found = [json.dumps(event) for event in self._mine("Runtime.exceptionThrown")]
        for event in self._mine("Runtime.consoleAPICalled"):
            if event["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(event["args"]))
        for event in self._mine("Log.entryAdded"):
            if event["entry"]["level"] in ("error", "warning"):
                found.append(json.dumps(event["entry"]))
        return found

    def requests(self) -> list[str]:
        """Addresses that the page asked for, apart from those that hold their own content."""
        addresses = [event["request"]["url"] for event in self._mine("Network.requestWillBeSent")]
        return [address for address in addresses if not address.startswith(("data:", "blob:"))]

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        told = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))

    def print(self, path: Path) -> None:
        told = self.ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(told["data"]))

    # -- doing -----------------------------------------------------------------------------------

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of the first element that is shown and fits, scrolled into view."""
        found = self.run(
            f"(() => {{ const e = {_first(selector)};"
            "e.scrollIntoView({block: 'center', inline: 'nearest'});"
            "const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return found[0], found[1]

    def click(self, selector: str) -> None:
        self.click_at(*self.place(selector))

    def click_at(self, x: float, y: float, *, times: int = 1) -> None:
        self.hover_at(x, y)
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self._mouse(kind, x, y, button="left", clickCount=count)

    def drag(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        button: str = "left",
        shift: bool = False,
    ) -> None:
        """Press at a place, move in small steps, release at another."""
        self.hover_at(*start)
        held: dict[str, Any] = {"button": button, "clickCount": 1, "modifiers": SHIFT * shift}
        self._mouse("mousePressed", *start, **held)
        for step in range(1, 6):
            x, y = (a + (b - a) * step / 5 for a, b in zip(start, end, strict=True))
            self._mouse("mouseMoved", x, y, **held, buttons=1)
        self._mouse("mouseReleased", *end, **held)

    def turn_wheel(self, x: float, y: float, by: float) -> None:
        """Turn the wheel over a place, away from oneself where `by` is negative."""
        self.hover_at(x, y)
        self._mouse("mouseWheel", x, y, deltaX=0, deltaY=by)

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover_at(self, x: float, y: float) -> None:
        self._mouse("mouseMoved", x, y)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key with a name, such as ArrowDown or Tab, or one that writes a sign."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36}
        codes |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        more: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        if len(key) == 1 or key == "Enter":
            more["text"] = "\r" if key == "Enter" else key
        self.ask("Input.dispatchKeyEvent", type="keyDown", modifiers=SHIFT * shift, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)


def _first(selector: str) -> str:
    """An expression for the first element that is shown and fits a selector."""
    all_of = f"Array.from(document.querySelectorAll({json.dumps(selector)}))"
    return f"{all_of}.find(e => e.checkVisibility())"
