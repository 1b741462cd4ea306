"""Functions on URLs and their parameters. A text that is no URL is a failure."""

from __future__ import annotations

from typing import Any

from streamsql import types
from streamsql.functions.base import Call, ScalarFunction, SparkColumn, overload, scalar
from streamsql.types import SQLType

_CATEGORY = "url"


def _part(method: str, result: SQLType) -> Any:
    """A part of a URL. A URL may lack it; a text that is no URL is the failure."""

    def impl(F: Any, call: Call, url: SparkColumn, *name: SparkColumn) -> SparkColumn:
        part = call.java(f"Urls.{method}", result, url, *name)
        is_url = call.java("Urls.isUrl", types.BOOLEAN, url)
        return F.coalesce(part, F.when(~is_url, call.fail("not a URL", result)))

    return impl


def _extract(name: str, what: str, example: str) -> ScalarFunction:
    impl = _part(name.lower(), types.STRING)
    return scalar(
        f"URL_EXTRACT_{name}",
        f"The {what} of a URL, decoded; null if it has none.",
        _CATEGORY,
        overload("url STRING -> STRING", impl, with_call=True),
        example=(f"URL_EXTRACT_{name}('https://user@docs.org:80/a/b?k=v&l=w#top')", example),
    )


URLS = (
    scalar(
        "URL_ENCODE_PARAM",
        "The text encoded as a URL parameter.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, text: F.url_encode(text)),
        example=("URL_ENCODE_PARAM('a b&c')", "'a+b%26c'"),
    ),
    scalar(
        "URL_DECODE_PARAM",
        "The decoded text of a URL parameter.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, text: F.try_url_decode(text)),
        fallible="not an encoded text",
        example=("URL_DECODE_PARAM('a+b%26c')", "'a b&c'"),
    ),
    _extract("FRAGMENT", "fragment", "'top'"),
    _extract("HOST", "host", "'docs.org'"),
    _extract("PATH", "path", "'/a/b'"),
    _extract("PROTOCOL", "protocol", "'https'"),
    _extract("QUERY", "query", "'k=v&l=w'"),
    scalar(
        "URL_EXTRACT_PORT",
        "The port of a URL; null if it has none.",
        _CATEGORY,
        overload("url STRING -> INT", _part("port", types.INT), with_call=True),
        example=("URL_EXTRACT_PORT('https://docs.org:8080/a')", "8080"),
    ),
    scalar(
        "URL_EXTRACT_PARAMETER",
        "The value of a parameter of a URL; null if it has none of that name.",
        _CATEGORY,
        overload(
            "url STRING, name STRING -> STRING", _part("parameter", types.STRING), with_call=True
        ),
        example=("URL_EXTRACT_PARAMETER('https://docs.org?k=v&l=w', 'l')", "'w'"),
    ),
)
