"""Hypothesis strategies: random .proto texts that protoc accepts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from streamsql.formats.proto_parser import SCALARS

Draw = Any
_KEYS = [name for name in SCALARS if name not in ("double", "float", "bytes")]
_DEFAULTS = {
    "double": ["1.5", "-2e-7", "inf", "-inf", "nan", "12345678901234567890", "0.1", "3."],
    "float": ["1.5", "-2e-7", "inf", "0.1", "16777217", "1e38"],
    "bool": ["true", "false"],
    "string": ['"x\\n"', "'\\x41\\101' \"b\"", '"é\\u20ac"', '""'],
    "bytes": ['"\\0\\377"', "'it\\'s'", '"a" "b"'],
}
_INTEGERS = ["0", "5", "0x1f", "017", "2147483647"]
_GAPS = st.sampled_from([" ", "\n", "\t ", "/* ; } */", " // { \n", "  "])


@st.composite
def _files(draw: Draw) -> str:
    """A file of one or two messages, in either syntax."""
    syntax = draw(st.sampled_from(["proto2", "proto3"]))
    tokens = ["syntax", "=", f'"{syntax}"', ";"]
    package = draw(st.sampled_from(["", "p", "p.q"]))
    if package:
        tokens += ["package", package, ";"]
    names = [".".join(filter(None, ("", package, name))) for name in ("One", "Two")]
    types = ["One", "Two", *(f".{n.lstrip('.')}" for n in names), "One.Inner", "Kind", "One.Deep"]
    for name in ("One", "Two"):
        tokens += _message(draw, name, syntax, types, nested=name == "One")
    tokens += ["enum", "Kind", "{", "NONE", "=", "0", ";", "SOME", "=", "-0x5", ";", "}"]
    return _spaced(draw, tokens)


def _message(draw: Draw, name: str, syntax: str, types: list[str], *, nested: bool) -> list[str]:
    tokens = ["message", name, "{"]
    if nested:
        tokens += [*_message(draw, "Inner", syntax, types, nested=False)]
        tokens += ["enum", "Deep", "{", "ZERO", "=", "0", ";", "}"]
    number = 1
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.integers(0, 5)) == 0:
            tokens += ["oneof", f"o{number}", "{"]
            for _ in range(draw(st.integers(1, 2))):
                kind = draw(st.sampled_from([*SCALARS, *types]))
                tokens += [kind, *_named(draw, number), ";"]
                number += 1
            tokens += ["}"]
        elif draw(st.integers(0, 4)) == 0:
            key = draw(st.sampled_from(_KEYS))
            value = draw(st.sampled_from([*SCALARS, *types]))
            tokens += ["map", "<", key, ",", value, ">", *_named(draw, number), ";"]
            number += 1
        else:
            tokens += _field(draw, syntax, types, number)
            number += 1
    return [*tokens, "}"]


def _field(draw: Draw, syntax: str, types: list[str], number: int) -> list[str]:
    labels = ["optional", "repeated", *(["required"] if syntax == "proto2" else [""])]
    label = draw(st.sampled_from(labels))
    kind = draw(st.sampled_from([*SCALARS, *types]))
    options = []
    if draw(st.booleans()):
        options.append("deprecated = true")
    if label == "repeated" and kind in SCALARS and kind not in ("string", "bytes"):
        options += draw(st.sampled_from([[], ["packed = true"], ["packed = false"]]))
    if syntax == "proto2" and label == "optional" and kind in SCALARS and draw(st.booleans()):
        options.append(f"default = {draw(st.sampled_from(_DEFAULTS.get(kind, _INTEGERS)))}")
    tokens = [*([label] if label else []), kind, *_named(draw, number)]
    return [*tokens, *(["[", ", ".join(options), "]"] if options else []), ";"]


def _named(draw: Draw, number: int) -> list[str]:
    prefix = draw(st.sampled_from(["a", "_b", "c_", "camelCase", "d_e__f", "UPPER_", "optional"]))
    written = draw(st.sampled_from([str(number), hex(number), f"0{number:o}"]))
    return [f"{prefix}{number}", "=", written]


def _spaced(draw: Draw, tokens: list[str]) -> str:
    gaps = draw(st.lists(_GAPS, min_size=len(tokens), max_size=len(tokens)))
    return "".join(token + gap for token, gap in zip(tokens, gaps, strict=True))


proto_texts = _files()
