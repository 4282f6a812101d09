"""A headless Chromium that tests talk to over two pipes, as its DevTools do."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--mute-audio", "--no-first-run", "--disable-sync", "--disable-background-networking",
    "--disable-component-update", "--disable-extensions", "--disable-default-apps",
    "--no-default-browser-check", "--disable-features=Translate,OptimizationHints,MediaRouter",
    "--force-device-scale-factor=1", "--remote-debugging-pipe",
)  # fmt: skip


def found() -> str | None:
    """Return where Chromium is; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Tab:
    """One page in a browser."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._left = b""
        self._number = 0
        self._session: str | None = None
        self.messages: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its answer; what comes meanwhile is kept in `messages`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters} | (
            {"sessionId": self._session} if self._session else {}
        )
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.messages.append(answer)

    def _read(self, seconds: float = 60.0) -> dict[str, Any]:
        while b"\0" not in self._left:
            if not select.select([self._from], [], [], seconds)[0]:
                raise TimeoutError(f"Chromium has said nothing for {seconds:g} s")
            chunk = os.read(self._from, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium has gone")
            self._left += chunk
        message, self._left = self._left.split(b"\0", 1)
        return dict(json.loads(message))

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the window's size in dots, and whether the system is dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def open(self, path: Path) -> None:
        """Load a page and wait until the run in it is unpacked."""
        self.messages.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + 60.0
        while self.evaluate("typeof window.crowdsim") != "object" and time.monotonic() < deadline:
            time.sleep(0.02)
        self.evaluate("window.crowdsim.then(page => { window.page = page; return 1; })")

    def evaluate(self, expression: str) -> Any:
        """Return what an expression comes to; waits for promises."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(
                answer["exceptionDetails"]
                .get("exception", {})
                .get("description", answer["exceptionDetails"]["text"])
            )
        return answer["result"].get("value")

    def drawn(self) -> None:
        """Wait until what was changed is on the screen."""
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
        )

    def click(self, x: float, y: float) -> None:
        """Press and let go at a point of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def press(self, key: str, text: str = "") -> None:
        """Press a key."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, out: Path) -> None:
        """Write what is on the screen as PNG."""
        self.drawn()
        out.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def problems(self) -> list[str]:
        """Return errors and refusals that the page's console shows."""
        self.evaluate("1")
        found = []
        for message in self.messages:
            details = message.get("params", {})
            if message.get("method") == "Runtime.exceptionThrown":
                found.append(
                    str(
                        details["exceptionDetails"]
                        .get("exception", {})
                        .get("description", details["exceptionDetails"]["text"])
                    )
                )
            elif message.get("method") == "Log.entryAdded" and details["entry"]["level"] in (
                "error",
                "warning",
            ):
                found.append(str(details["entry"]["text"]))
        return found

    def requests(self) -> list[str]:
        """Return the addresses that were asked for."""
        return [
            str(m["params"]["request"]["url"])
            for m in self.messages
            if m.get("method") == "Network.requestWillBeSent"
        ]


@contextlib.contextmanager
def browser() -> Iterator[Tab]:
    """Start Chromium with a folder of its own and end it afterwards."""
    command = found()
    assert command is not None, "ask found() first"
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Chromium reads commands from file 3 and answers to file 4; the shell puts the pipes there.
        line = f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}'
        process = subprocess.Popen(
            ["/bin/bash", "-c", line, command, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(to_read, from_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(from_write)
        try:
            yield Tab(to_write, from_read)
        finally:
            with contextlib.suppress(OSError):
                os.write(to_write, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
            os.close(to_write)
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(from_read)
