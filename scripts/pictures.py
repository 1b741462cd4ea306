"""Regenerates the pictures of the documentation: `make pictures`.

A server of its own is given the flights of examples/flights, and looked at as a user does: with
Chromium, driven as tests/server drives it, and with the shell in a real terminal, which is tmux.
Needs Debian's packages chromium and tmux, and a few minutes.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from awaiting import await_until
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from server.browser import browsing
from server.devtools import CTRL, Page, opened

import streamsql
from examples.flights import prepare
from examples.flights.feed import Feeder
from streamsql.data_folder import DataDir
from streamsql.kafka.broker import broker_status
from streamsql.kafka.client import KafkaClient

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
SECONDS = 180.0
SIZE = (1280, 720)
COLUMNS, LINES = 110, 34
WEEKS = 2
"""The flights at the beginning; those of the third arrive while pictures are taken."""
LIVE_RATE = 40

SQL = (
    "SET 'ksql.logging.processing.rows.include' = 'true';"
    + (ROOT / "examples" / "flights" / "flights.sql").read_text("utf-8")
    + """
CREATE STREAM long_delays AS
  SELECT carrier, flight, origin, dest, dep_delay FROM flights WHERE dep_delay > 60;
"""
)
QUERIES = SQL.count(" AS\n  SELECT")
CHART = """-- How late was United, hour by hour?
SELECT windowstart, average_delay
  FROM delay_by_carrier_and_hour
  WHERE carrier = 'UA';"""
SHELL = (
    (
        "SELECT manufacturer, age, average_delay FROM delay_by_plane"
        " ORDER BY average_delay DESC LIMIT 5;",
        r"│ +-?\d+\.\d+\s",
    ),
    ("SELECT * FROM long_delays EMIT CHANGES LIMIT 4;", "Limit Reached"),
    ("SELECT carrier, dep_dely FROM flights EMIT CHANGES;", "Hint: .*DEP_DELAY"),
)
"""What is typed, and what is seen when it is done."""
EDITOR = "document.querySelector('.sql-editor')?.shadowRoot?.querySelector('.cm-content')"


@contextmanager
def server(data: Path) -> Iterator[str]:
    """The address of its console, with the token."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        listen = "127.0.0.1:{1}".format(*probe.getsockname())
    command = [sys.executable, "-m", "streamsql.cli.main", "server", "--data", str(data)]
    log = data / "server.log"
    with (
        log.open("wb") as out,
        subprocess.Popen([*command, "--listen", listen], stdout=out, stderr=out) as process,
    ):
        found: list[str] = []

        def told() -> bool:
            assert process.poll() is None, log.read_text()
            found[:] = re.findall(r"Console: (\S+)\n", log.read_text())
            return bool(found)

        try:
            await_until(told, "the server listens", SECONDS)
            yield found[0]
        finally:
            process.terminate()
            process.wait(60)


class Flights:
    """The data of the pictures, in the topics of a server."""

    def __init__(self, data: Path) -> None:
        await_until(lambda: bool(self._kafka(data)), "Kafka is up", SECONDS)
        self._feeder = Feeder(data, KafkaClient(self._kafka(data)))
        self._year = prepare.year()
        self._feeder.write("airlines", self._year.airlines)
        self._feeder.write("planes", self._year.planes)

    @staticmethod
    def _kafka(data: Path) -> str:
        return broker_status(DataDir.at(data)).bootstrap or ""

    def begin(self) -> None:
        """The first weeks, and what is known of the third one's weather."""
        weeks = zip(
            prepare.weeks(self._year.weather), prepare.weeks(self._year.flights), strict=True
        )
        for number, (weather, flights) in enumerate(weeks):
            self._feeder.write("weather", weather)
            if number == WEEKS:
                self._next = flights
                return
            self._feeder.write("flights", flights)

    def fail(self) -> None:
        """Cancelled flights as the airlines' file has them: with NA where there is no number."""
        flights = self._next.filter(pa.compute.is_null(self._next["dep_delay"])).slice(0, 12)
        for name in ("dep_delay", "arr_delay"):
            place = flights.schema.get_field_index(name)
            flights = flights.set_column(place, name, pa.array(["NA"] * len(flights)))
        self._feeder.write("flights", flights)

    @contextmanager
    def flying(self) -> Iterator[None]:
        """The third week's flights come as long as this lasts."""
        ended = threading.Event()

        def fly() -> None:
            for start in range(0, len(self._next), LIVE_RATE):
                self._feeder.write("flights", self._next.slice(start, LIVE_RATE), rate=LIVE_RATE)
                if ended.is_set():
                    return

        thread = threading.Thread(target=fly)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def show(page: Page, view: str, theme: str) -> None:
    page.js(f"location.hash = '{view}'")
    page.await_js(f"!!document.querySelector('.{view}')")
    page.js(f"document.querySelector('.theme select').value = '{theme}'")
    page.js("document.querySelector('.theme select').dispatchEvent(new Event('change'))")


def take(page: Page, path: Path) -> None:
    """What is seen once all of it has been drawn."""
    page.send("Emulation.setScrollbarsHidden", hidden=True)
    page.js("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    page.screenshot(path)


def picture_of_graph(page: Page, to: Path) -> None:
    show(page, "graph", "light")
    states = "[...document.querySelectorAll('.queries tbody td:nth-child(2)')]"
    running = f"{states}.filter((each) => each.innerText.startsWith('RUNNING'))"
    page.await_js(f"{running}.length === {QUERIES}", SECONDS)
    page.await_js("document.querySelectorAll('.edge.flows').length >= 5", SECONDS)
    take(page, to / "console-graph.png")


def picture_of_editor(page: Page, to: Path) -> None:
    show(page, "editor", "dark")
    page.await_js(f"!!{EDITOR}")
    page.js(f"{EDITOR}.focus()")
    page.type(CHART)
    page.key("Enter", CTRL)
    page.shows("rows", ".outcome", SECONDS)
    page.click("Line")
    page.await_js("!!document.querySelector('.plot canvas')")
    page.js(f"{EDITOR}.blur()")
    take(page, to / "console-editor.png")


def picture_of_errors(page: Page, to: Path) -> None:
    show(page, "errors", "light")
    page.shows("LONG_DELAYS", ".errors", SECONDS)
    group = "[...document.querySelectorAll('.group')].find(g => /LONG_DELAYS/.test(g.innerText))"
    page.js(f"{group}.id = 'shown'")
    page.js("document.querySelector('#shown summary').click()")
    page.shows("NA", "#shown")
    page.shows("Try a replay", "#shown")
    # All of it without a scroll, which takes time to be drawn.
    page.size(SIZE[0], 920)
    take(page, to / "console-errors.png")
    page.size(*SIZE)


def picture_of_changes(page: Page, to: Path) -> None:
    """What it would be to ask for longer delays."""
    show(page, "changes", "dark")
    page.await_js(f"!!{EDITOR}")
    page.js(f"{EDITOR}.focus()")
    page.type(SQL.replace("dep_delay > 60", "dep_delay > 90"))
    page.click("Plan")
    page.shows("1 changed", ".outcome", SECONDS)
    page.shows("LONG_DELAYS", ".planned")
    page.js(f"{EDITOR}.blur()")
    take(page, to / "console-changes.png")


def tmux(control: Path, *command: str) -> str:
    done = subprocess.run(
        ["tmux", "-S", str(control), "-f", "/dev/null", *command],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def picture_of_shell(url: str, folder: Path, to: Path) -> None:
    control = folder / "tmux"
    shell = f"{sys.executable} -m streamsql.cli.main connect {url}"
    size = ("-x", str(COLUMNS), "-y", str(LINES))
    environment = ("-e", f"XDG_STATE_HOME={folder}", "-e", "TERM=tmux-256color")
    tmux(control, "new-session", "-d", *size, *environment, shell)
    try:
        tmux(control, "set", "status", "off")

        def seen(pattern: str) -> bool:
            # The prompt is there again, below what was awaited.
            return bool(re.search(f"{pattern}(?s:.*)\nstreamsql> *\n", capture(control)))

        await_until(lambda: seen(""), "the prompt", SECONDS)
        for statement, pattern in SHELL:
            # To tmux a semicolon at the end would be its own.
            tmux(control, "send-keys", "-l", statement.replace(";", "\\;"))
            tmux(control, "send-keys", "Enter")
            await_until(lambda pattern=pattern: seen(pattern), statement, SECONDS)
        tmux(control, "send-keys", "-l", "SELECT * FROM delay_by_")
        tmux(control, "send-keys", "Tab")
        await_until(lambda: "delay_by_route" in capture(control), "what may come next", SECONDS)
        draw(capture(control, "-e"), to / "shell.svg")
    finally:
        tmux(control, "kill-server")


def capture(control: Path, *options: str) -> str:
    return tmux(control, "capture-pane", "-p", *options)


def draw(screen: str, path: Path) -> None:
    """As SVG, in a font of the reader's own: the one that Rich names is another host's."""
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(screen.rstrip("\n")), end="")
        svg = console.export_svg(title="streamsql", theme=MONOKAI)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")
    path.write_text(svg, "utf-8")


def take_all(to: Path, *, shell: bool = True) -> None:
    """All pictures, into a folder; that of the shell is optional, since it needs tmux."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="streamsql-pictures-") as name:
        folder = Path(name)
        data = folder / "data"
        data.mkdir()
        with server(data) as console:
            url = console.partition("/#")[0]
            flights = Flights(data)
            with streamsql.connect(url) as client:
                client.sql(SQL)
            flights.begin()
            flights.fail()
            with browsing(folder / "profile") as browser, opened(browser, console) as page:
                page.size(*SIZE)
                page.shows("Editor", "nav", SECONDS)
                with flights.flying():
                    picture_of_graph(page, to)
                picture_of_editor(page, to)
                picture_of_errors(page, to)
                picture_of_changes(page, to)
                assert not page.problems, page.problems
            if shell:
                picture_of_shell(url, folder, to)


if __name__ == "__main__":
    take_all(PICTURES)
