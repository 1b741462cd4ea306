"""Which statements are sent, and which name a file of this side; addresses of servers."""

from __future__ import annotations

import pytest

from streamsql.client.scripts import Piece, pieces
from streamsql.client.transport import Address
from streamsql.errors import ConfigError, ParseError, render


def test_a_text_without_scripts_is_sent_as_it_is() -> None:
    for sql in ("SHOW STREAMS; SELECT 'RUN SCRIPT';", "-- RUN SCRIPT 'x';\nSELECT 1", "SELECT '"):
        assert list(pieces(sql, {})) == [Piece(sql)]


def test_a_script_cuts_the_text_and_keeps_its_places() -> None:
    sql = "SHOW STREAMS;\nRUN SCRIPT 'a.sql';\nSHOW TABLES;"
    assert list(pieces(sql, {})) == [
        Piece("SHOW STREAMS;\n"),
        Piece(script="a.sql"),
        Piece(" " * 13 + "\n" + " " * 18 + ";\nSHOW TABLES;"),
    ]


def test_nothing_is_sent_but_the_script() -> None:
    assert list(pieces(" run  script 'it''s.sql' ;\n", {})) == [Piece(script="it's.sql")]


def test_a_variable_is_read_when_the_script_has_its_turn() -> None:
    variables: dict[str, str] = {}
    found = pieces("DEFINE d = 'x'; RUN SCRIPT '${d}/a.sql';", variables)
    assert next(found) == Piece("DEFINE d = 'x'; ")
    variables["D"] = "folder"
    assert next(found) == Piece(script="folder/a.sql")


def test_a_script_without_a_name_is_reported_with_its_place() -> None:
    with pytest.raises(ParseError) as raised:
        list(pieces("SHOW TABLES;\nRUN SCRIPT 5;", {}))
    assert "line 2, column 12" in render(raised.value)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("localhost", "http://localhost:8088"),
        ("localhost:9000", "http://localhost:9000"),
        ("http://h:1/", "http://h:1"),
        ("http://h", "http://h:80"),
        ("https://h/proxy/", "https://h:443/proxy"),
        ("http://[::1]:8088", "http://[::1]:8088"),
    ],
)
def test_an_address(text: str, url: str) -> None:
    assert Address.of(text).url == url


def test_a_url_may_name_the_user_and_never_shows_it() -> None:
    address = Address.of("http://ann:p%40ss@h:8088")
    assert (address.user, address.password) == ("ann", "p@ss")
    assert address.url == "http://h:8088"


@pytest.mark.parametrize("text", ["ftp://h", "http://", "http://h:port", "http://h:99999"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not the address of a server"):
        Address.of(text)
