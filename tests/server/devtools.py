"""A page of a browser as a test drives it, over Chromium's DevTools protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
from awaiting import await_until
from server.browser import SECONDS, Browser
from websockets.sync.client import ClientConnection, connect

KEYS = {"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27}
CTRL = 2


class Page:
    """What is shown; `problems` are the errors, and breaches of the page's policy, that the browser
    has noted."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = count(1)
        self.problems: list[str] = []

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(SECONDS))
            if message.get("id") == number:
                assert "error" not in message, message
                found: dict[str, Any] = message["result"]
                return found
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"]))
        elif message["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append("{text} {url}".format(**{"url": "", **params["entry"]}))

    def js(self, expression: str) -> Any:
        """The value of an expression, awaited if it is a promise."""
        found = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def busy_seconds(self) -> float:
        """How long the page's thread has been busy; `Performance` must be enabled."""
        metrics = self.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    def text(self, selector: str = "body") -> str:
        """The text of the first such element; empty where there is none."""
        return str(self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def shows(self, text: str, selector: str = "body", seconds: float = SECONDS) -> None:
        """Wait until an element has this text."""
        try:
            await_until(lambda: text in self.text(selector), text, seconds, every=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}; but:\n{self.text()}\n{self.problems}") from None

    def await_js(self, expression: str, seconds: float = SECONDS) -> None:
        """Wait until an expression is true."""
        await_until(lambda: bool(self.js(expression)), expression, seconds, every=0.1)

    def click(self, label: str, within: str = "body") -> None:
        """Click the button or link of that text or label, once it is there."""
        clickable = json.dumps(f"{within} :is(button, a, summary, [role=button])")
        find = f"""[...document.querySelectorAll({clickable})].find((each) =>
            each.textContent.trim() === {json.dumps(label)} ||
            each.getAttribute("aria-label")?.startsWith({json.dumps(label)}) ||
            each.querySelector("title")?.textContent.startsWith({json.dumps(label)}))"""
        self.await_js(f"!!({find})")
        self.js(f"({find}).dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")

    def type(self, text: str) -> None:
        """Text as typed where the focus is."""
        self.send("Input.insertText", text=text)

    def key(self, key: str, modifiers: int = 0) -> None:
        """One key pressed and let go."""
        code = KEYS.get(key, ord(key.upper()[0]))
        text = {"text": "\r"} if key == "Enter" and not modifiers else {}
        for kind, more in (("rawKeyDown" if not text else "keyDown", text), ("keyUp", {})):
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key if key in KEYS else f"Key{key.upper()}",
                windowsVirtualKeyCode=code,
                modifiers=modifiers,
                **more,
            )

    def go(self, url: str) -> None:
        """Show another address."""
        self.send("Page.navigate", url=url)

    def size(self, width: int, height: int) -> None:
        """That of the window; a narrow one is a phone's."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def screenshot(self, path: Path) -> None:
        """What is seen just now, as a PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        data = self.send("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))


@contextmanager
def opened(browser: Browser, url: str) -> Iterator[Page]:
    """A new tab that shows `url`."""
    tools = browser.tools
    tab = httpx2.put(f"{tools}/new?about:blank", timeout=SECONDS).raise_for_status().json()
    try:
        with connect(tab["webSocketDebuggerUrl"], max_size=None) as socket:
            page = Page(socket)
            for domain in ("Page", "Runtime", "Log"):
                page.send(f"{domain}.enable")
            page.size(1280, 860)
            page.go(url)
            yield page
    finally:
        httpx2.get(f"{tools}/close/{tab['id']}", timeout=SECONDS)
