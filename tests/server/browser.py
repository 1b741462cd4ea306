"""A real browser, and pages for it of which the server under test knows nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from awaiting import await_until

SECONDS = 90.0
NAMES = ("chromium", "chromium-browser", "google-chrome")
HEADLESS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    # Of its own choice; it is written into the profile.
    "--remote-debugging-port=0",
    # The user of a container is often root, for whom Chromium has no sandbox.
    "--no-sandbox",
)


class PageServer(ThreadingHTTPServer):
    """Serves one page at every path; what the page posts to /said is in `said`, by its `about`."""

    daemon_threads = True

    def __init__(self, page: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.page = page
        self.said: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(cast(PageServer, self.server).page.encode())

    def do_POST(self) -> None:
        found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        cast(PageServer, self.server).said[found["about"]] = found["value"]
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(server: PageServer) -> Iterator[PageServer]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Browser:
    """Chromium, with a page open for as long as a test looks at it."""

    def __init__(self, port: int) -> None:
        """`port` is that of its DevTools."""
        self.tools = f"http://127.0.0.1:{port}/json"

    @contextmanager
    def showing(self, url: str) -> Iterator[None]:
        tab = httpx2.put(f"{self.tools}/new?{url}", timeout=SECONDS).raise_for_status().json()
        try:
            yield
        finally:
            httpx2.get(f"{self.tools}/close/{tab['id']}", timeout=SECONDS)


@contextmanager
def browsing(profile: Path, *options: str) -> Iterator[Browser]:
    """Tests are skipped where there is no Chromium."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("Chromium is not installed (Debian's package chromium)")
    command = [program, *HEADLESS, f"--user-data-dir={profile}", *options]
    log = (profile.parent / "chromium.log").open("wb")
    with log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            tools = profile / "DevToolsActivePort"
            await_until(lambda: tools.is_file() and "\n" in tools.read_text(), "it is up", SECONDS)
            yield Browser(int(tools.read_text().splitlines()[0]))
        finally:
            process.terminate()
            process.wait(30)
