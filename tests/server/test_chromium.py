"""A web page must not reach the engine, as a real browser sees it: Chromium shows pages of other
origins that try all the ways in that pages have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from awaiting import await_until
from server.browser import SECONDS, Browser, PageServer, browsing, serving

from streamsql.server.settings.config import ServerConfig

if TYPE_CHECKING:
    from client.servers import WatchedEngine

SAY = """
const about = (name, value) => JSON.stringify({about: name, value: value});
const say = (name, value) =>
  fetch(SAID, {method: "POST", mode: "no-cors", body: about(name, value)});
const query = encodeURIComponent('{"ksql": "SELECT * FROM numbers EMIT CHANGES;"}');
const socket = (origin) => new Promise((done) => {
  const opened = new WebSocket(origin.replace("http", "ws") + "/ws/query?request=" + query);
  opened.onmessage = () => done("answered");
  opened.onclose = () => done("closed");
});
const status = (url, options) =>
  fetch(url, options).then((answer) => answer.status, (error) => error.name);
"""
ATTACK = """
const json = '{"ksql": "LIST VARIABLES;", "padding": "="}';
const post = (more) => status(ENGINE + "/ksql", {method: "POST", body: json, ...more});
const form = (enctype) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.name = enctype;
  document.body.appendChild(frame);
  const form = document.body.appendChild(document.createElement("form"));
  Object.assign(form, {method: "POST", action: ENGINE + "/ksql", enctype, target: enctype});
  // As text/plain the body is what stands on both sides of an equals sign.
  const [name, value] = json.split("=");
  Object.assign(form.appendChild(document.createElement("input")), {name, value});
  frame.onload = () => done("answered");
  form.submit();
});
const script = (path) => new Promise((done) => {
  const tag = document.createElement("script");
  tag.onload = () => done("read");
  tag.onerror = () => done("refused");
  tag.src = ENGINE + path;
  document.body.appendChild(tag);
});
async function attack() {
  const found = {};
  found.text = await post({mode: "no-cors"});
  found.untyped = await post({mode: "no-cors", body: new Blob([json])});
  found.parameters = await post({mode: "no-cors", body: new URLSearchParams({ksql: "x"})});
  found.credentials = await post({mode: "no-cors", credentials: "include"});
  found.json = await post({headers: {"Content-Type": "application/json"}});
  found.beacon = navigator.sendBeacon(ENGINE + "/ksql", json);
  for (const enctype of ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"])
    found[enctype] = await form(enctype);
  found.socket = await socket(ENGINE);
  found.read = await status(ENGINE + "/streamsql/catalog");
  found.script = await script("/streamsql/catalog");
  say("attack", found);
}
attack();
"""
REBOUND = """
async function attack() {
  say("loaded", location.origin);
  // The attacker's server goes, and the name comes to mean the one on this machine.
  let own = true;
  while (own) {
    own = await fetch("/chc/live").then((answer) => answer.text(), () => "").then((text) =>
      text === "" || text.includes("<script>"));
    await new Promise((done) => setTimeout(done, 50));
  }
  const body = '{"ksql": "LIST VARIABLES;"}';
  const headers = {"Content-Type": "application/json"};
  say("attack", {
    json: await status("/ksql", {method: "POST", body, headers}),
    socket: await socket(location.origin),
    read: await status("/streamsql/catalog"),
  });
}
attack();
"""


def page(script: str, said: PageServer, engine: str = "") -> str:
    where = f'const ENGINE = "{engine}", SAID = "{said.url}/said";'
    return f"<!doctype html><body><script>{where}{SAY}{script}</script></body>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for all tests: each has origins of its own."""
    profile = tmp_path_factory.mktemp("chromium") / "profile"
    with browsing(profile, "--host-resolver-rules=MAP evil.test 127.0.0.1") as browser:
        yield browser


def test_a_page_of_another_port(
    engine: WatchedEngine, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    from client.servers import running

    with running(engine) as url, serving(PageServer()) as server:
        server.page = page(ATTACK, server, url)
        with browser.showing(server.url):
            await_until(lambda: "attack" in server.said, "the page has tried all", SECONDS)
            refused = [r for r in caplog.records if r.getMessage().startswith("refused: a page")]
    assert engine.ran == []
    # Eight POSTs and a WebSocket have come as far as the server; JSON is asked for first.
    assert len(refused) == 9
    answered = dict.fromkeys(
        ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"], "answered"
    )
    assert server.said["attack"] == {
        # Sent, but not even an opaque answer is handed to the page.
        **dict.fromkeys(["text", "untyped", "parameters", "credentials"], "TypeError"),
        **answered,
        "beacon": True,
        "json": "TypeError",
        "socket": "closed",
        "read": "TypeError",
        "script": "refused",
    }


def test_a_page_of_an_origin_that_is_trusted(engine: WatchedEngine, browser: Browser) -> None:
    """So what is refused to others is not refused for being wrong."""
    from client.servers import running

    with serving(PageServer()) as server:
        config = ServerConfig(cors_origins=(server.url,))
        with running(engine, config) as url:
            server.page = page(ATTACK, server, url)
            with browser.showing(server.url):
                await_until(lambda: "attack" in server.said, "the page has tried all", SECONDS)
    found = server.said["attack"]
    assert (found["json"], found["read"], found["socket"]) == (200, 200, "answered")
    assert sorted(engine.ran) == ["LIST VARIABLES;", "SELECT * FROM numbers EMIT CHANGES;"]


def test_a_page_whose_name_is_rebound(engine: WatchedEngine, browser: Browser) -> None:
    from client.servers import running

    attacker = PageServer()
    url = f"http://evil.test:{attacker.server_port}"
    with serving(PageServer()) as said:
        attacker.page = page(REBOUND, said)
        with browser.showing(url):
            # Only now does it begin to serve: a page that waits is no page that is missed.
            with serving(attacker):
                await_until(lambda: "loaded" in said.said, "the page is there", SECONDS)
            with running(engine, port=attacker.server_port):
                await_until(lambda: "attack" in said.said, "the page has tried all", SECONDS)
    assert said.said == {
        "loaded": url,
        "attack": {"json": 421, "socket": "closed", "read": 421},
    }
    assert engine.ran == []
