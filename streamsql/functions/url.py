"""Functions on URLs and their parameters. A text that is no URL is a failure."""

from __future__ import annotations

from typing import Any

from streamsql.functions.base import ScalarFunction, SparkColumn, overload, scalar

_CATEGORY = "url"


def _part(F: Any, url: SparkColumn, part: str) -> SparkColumn:
    return F.try_parse_url(url, F.lit(part))


def _port(F: Any, url: SparkColumn) -> SparkColumn:
    authority = _part(F, url, "AUTHORITY")
    return F.nullif(F.regexp_extract(authority, r":(\d+)$", 1), F.lit("")).cast("int")


def _parameter(F: Any, url: SparkColumn, name: SparkColumn) -> SparkColumn:
    """A name without `=` has an empty value. Values stay encoded."""
    pairs = F.split(_part(F, url, "QUERY"), "&", -1)
    values = F.filter(
        pairs, lambda pair: (pair == name) | F.startswith(pair, F.concat(name, F.lit("=")))
    )
    first = F.get(values, F.lit(0))
    return F.substr(first, F.length(name) + 2, F.length(first))


def _extract(name: str, what: str, part: str, example: str) -> ScalarFunction:
    return scalar(
        f"URL_EXTRACT_{name}",
        f"The {what} of a URL; null if it has none.",
        _CATEGORY,
        overload("url STRING -> STRING", lambda F, url: _part(F, url, part)),
        example=(f"URL_EXTRACT_{name}('https://user@docs.org:80/a/b?k=v&l=w#top')", example),
    )


URLS = (
    scalar(
        "URL_ENCODE_PARAM",
        "The text as it is written in a parameter of a URL.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, text: F.url_encode(text)),
        example=("URL_ENCODE_PARAM('a b&c')", "'a+b%26c'"),
    ),
    scalar(
        "URL_DECODE_PARAM",
        "The text that a parameter of a URL stands for.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, text: F.try_url_decode(text)),
        fallible="not an encoded text",
        example=("URL_DECODE_PARAM('a+b%26c')", "'a b&c'"),
    ),
    _extract("FRAGMENT", "fragment", "REF", "'top'"),
    _extract("HOST", "host", "HOST", "'docs.org'"),
    _extract("PATH", "path", "PATH", "'/a/b'"),
    _extract("PROTOCOL", "protocol", "PROTOCOL", "'https'"),
    _extract("QUERY", "query", "QUERY", "'k=v&l=w'"),
    scalar(
        "URL_EXTRACT_PORT",
        "The port of a URL; null if it has none.",
        _CATEGORY,
        overload("url STRING -> INT", _port),
        example=("URL_EXTRACT_PORT('https://docs.org:8080/a')", "8080"),
    ),
    scalar(
        "URL_EXTRACT_PARAMETER",
        "The value of a parameter of a URL; null if it has none of that name.",
        _CATEGORY,
        overload("url STRING, name STRING -> STRING", _parameter),
        example=("URL_EXTRACT_PARAMETER('https://docs.org?k=v&l=w', 'l')", "'w'"),
    ),
)
