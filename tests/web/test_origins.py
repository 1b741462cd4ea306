"""Which requests of browsers are taken, by what browsers say of them."""

from __future__ import annotations

from typing import Any

import pytest

from streamsql.errors import ConfigError
from streamsql.web.origins import AllowedHosts, Policy, allowed_host, trusted_origin

HERE = "127.0.0.1:8088"
OWN = f"http://{HERE}"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TEXT = {"Content-Type": "text/plain;charset=UTF-8"}
MULTIPART = {"Content-Type": "multipart/form-data; boundary=x"}
ELSEWHERE = {"Origin": "http://evil.example"}
FROM_ELSEWHERE = {**ELSEWHERE, "Sec-Fetch-Site": "cross-site"}
FROM_HERE = {"Origin": OWN, "Sec-Fetch-Site": "same-origin"}


def status(
    policy: Policy, headers: dict[str, str], method: str = "POST", host: str | None = HERE
) -> int | None:
    """Of the refusal; None where there is none."""
    sent = [(name.encode().title(), value.encode()) for name, value in headers.items()]
    if host is not None:
        sent.append((b"host", host.encode()))
    kind: dict[str, Any] = {"type": "http", "method": method}
    refusal = policy.refusal({**(kind if method else {"type": "websocket"}), "headers": sent})
    return None if refusal is None else refusal.status


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        # Programs: curl, clients of ksqlDB, Node's fetch.
        ({}, None),
        (FORM, None),
        (JSON, None),
        ({**JSON, "Sec-Fetch-Mode": "cors"}, None),
        # Pages of this server, of a browser that tells the site, and of one that does not.
        ({**JSON, **FROM_HERE}, None),
        ({**JSON, "Origin": OWN}, None),
        ({**JSON, "Origin": f"https://{HERE}"}, None),
        ({**JSON, "Sec-Fetch-Site": "none"}, None),
        # Forms and fetch(.., {mode: "no-cors"}) of other pages.
        ({**FORM, **FROM_ELSEWHERE}, 403),
        ({**TEXT, **FROM_ELSEWHERE}, 403),
        ({**MULTIPART, **FROM_ELSEWHERE}, 403),
        (FROM_ELSEWHERE, 403),
        (ELSEWHERE, 403),
        ({**JSON, **FROM_ELSEWHERE}, 403),
        ({**JSON, "Origin": "null"}, 403),
        ({**JSON, "Origin": "null", "Sec-Fetch-Site": "cross-site"}, 403),
        ({**JSON, "Origin": ""}, 403),
        ({**JSON, "Sec-Fetch-Site": ""}, 403),
        ({**JSON, "Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-site"}, 403),
        ({**JSON, "Origin": "http://127.0.0.1:3000"}, 403),
        ({**JSON, "Origin": "http://127.0.0.1"}, 403),
        ({**JSON, "Origin": f"http://{HERE}.evil.example"}, 403),
        ({**JSON, "Origin": f"http://evil.example/{HERE}"}, 403),
        ({**JSON, "Origin": OWN, "Sec-Fetch-Site": "cross-site"}, 403),
        ({**JSON, "Origin": OWN, "Sec-Fetch-Site": "something new"}, 403),
        # Forms of our own pages: no page of ours has one.
        ({**FORM, **FROM_HERE}, 415),
        ({**TEXT, **FROM_HERE}, 415),
        ({**MULTIPART, **FROM_HERE}, 415),
        (FROM_HERE, 415),
    ],
)
def test_posts(headers: dict[str, str], expected: int | None) -> None:
    assert status(Policy(AllowedHosts()), headers) == expected


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "BREW"])
def test_other_methods_that_change_something(method: str) -> None:
    policy = Policy(AllowedHosts())
    assert status(policy, FROM_ELSEWHERE, method) == 403
    assert status(policy, FROM_HERE, method) is None
    assert status(policy, {}, method) is None


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_what_changes_nothing_may_be_asked_from_everywhere(method: str) -> None:
    policy = Policy(AllowedHosts())
    assert status(policy, FROM_ELSEWHERE, method) is None
    assert status(policy, FROM_ELSEWHERE, method, "evil.example:8088") == 421


def test_websockets() -> None:
    policy = Policy(AllowedHosts())
    assert status(policy, {}, "") is None
    assert status(policy, {"Origin": OWN}, "") is None
    for headers in (ELSEWHERE, FROM_ELSEWHERE, {"Origin": "null"}):
        assert status(policy, headers, "") == 403
    assert status(policy, {}, "", "evil.example:8088") == 421


@pytest.mark.parametrize("path", ["GET", "POST", ""])
def test_a_rebound_name_looks_like_the_same_origin_and_is_refused(path: str) -> None:
    host = "evil.example:8088"
    headers = {**JSON, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    assert status(Policy(AllowedHosts()), headers, path, host) == 421


def test_a_request_without_a_host_is_none_of_a_browser() -> None:
    policy = Policy(AllowedHosts())
    for host in (None, ""):
        assert status(policy, {}, "GET", host) is None
        assert status(policy, {"Sec-Fetch-Site": "same-origin"}, "GET", host) == 421
        assert status(policy, {**JSON, "Origin": "http://"}, "POST", host) == 421
    two = [(b"host", HERE.encode()), (b"Host", b"evil.example")]
    assert policy.refusal({"type": "http", "method": "GET", "headers": two}) is not None


def test_trusted_origins() -> None:
    policy = Policy(AllowedHosts(), frozenset({"http://evil.example"}))
    for headers in (ELSEWHERE, FROM_ELSEWHERE):
        assert status(policy, {**JSON, **headers}) is None
        assert status(policy, headers, "") is None
        assert status(policy, {**TEXT, **headers}) == 415, "the engine was not called"
    assert status(policy, {**JSON, "Origin": "https://evil.example"}) == 403
    assert status(policy, {**JSON, **FROM_ELSEWHERE}, "POST", "evil.example") == 421


def test_all_origins_are_not_all_websockets() -> None:
    policy = Policy(AllowedHosts(), frozenset({"*"}))
    assert status(policy, {**JSON, **FROM_ELSEWHERE}) is None
    assert status(policy, {**FORM, **FROM_ELSEWHERE}) == 415
    assert status(policy, ELSEWHERE, "") == 403


@pytest.mark.parametrize(
    ("listening", "more", "host", "expected"),
    [
        ("127.0.0.1", (), "127.0.0.1", True),
        ("127.0.0.1", (), "127.0.0.1:1", True),
        ("127.0.0.1", (), "127.8.9.10:8088", True),
        ("127.0.0.1", (), "[::1]:8088", True),
        ("127.0.0.1", (), "LOCALHOST:8088", True),
        ("127.0.0.1", (), "localhost.", True),
        ("127.0.0.1", (), "10.1.2.3:8088", False),
        ("127.0.0.1", (), "0.0.0.0:8088", False),
        ("127.0.0.1", (), "evil.localhost", False),
        ("127.0.0.1", (), "localhost.evil.example", False),
        ("127.0.0.1", (), "127.0.0.1.evil.example", False),
        ("127.0.0.1", (), "evil@localhost", False),
        ("127.0.0.1", (), "localhost/x", False),
        ("127.0.0.1", (), "localhost, evil.example", False),
        ("127.0.0.1", (), "l\u043ecalhost", False),
        ("127.0.0.1", (), "", False),
        ("10.1.2.3", (), "10.1.2.3:8088", True),
        ("10.1.2.3", (), "10.1.2.4:8088", False),
        ("fd00::1", (), "[fd00::1]:8088", True),
        ("Server.example", (), "server.example:80", True),
        # All addresses: which ones reach it, only the network knows.
        ("0.0.0.0", (), "10.1.2.3:8088", True),
        ("0.0.0.0", (), "[fd00::1]", True),
        ("::", (), "10.1.2.3", True),
        ("0.0.0.0", (), "evil.example", False),
        ("127.0.0.1", ("Proxy_1.example.", "10.0.0.9"), "proxy_1.example:8088", True),
        ("127.0.0.1", ("[FD00::2]",), "[fd00::2]:8088", True),
        ("127.0.0.1", ("*.example.org",), "a.b.example.org", True),
        ("127.0.0.1", ("*.example.org",), "example.org", False),
        ("127.0.0.1", ("*.example.org",), "evilexample.org", False),
    ],
)
def test_hosts(listening: str, more: tuple[str, ...], host: str, expected: bool) -> None:
    assert (host in AllowedHosts(listening, more)) is expected


@pytest.mark.parametrize("text", ["", "*", "a b", "http://a", "a:80", "*.", "a.*", "a/", "a..b"])
def test_hosts_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a host"):
        allowed_host(text)


@pytest.mark.parametrize(
    "text", ["", "a.example", "null", "https://", "https://a/b", "https://a b"]
)
def test_origins_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="is not an origin"):
        trusted_origin(text)


def test_origins_are_compared_as_browsers_send_them() -> None:
    assert trusted_origin("HTTPS://App.Example:444/") == "https://app.example:444"
