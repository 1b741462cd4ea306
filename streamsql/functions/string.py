"""Functions on text; some of them take bytes as well."""

from __future__ import annotations

from typing import Any

from streamsql.functions.base import Call, SparkColumn, each, overload, scalar

_CATEGORY = "string"
_BLANKS = "".join(map(chr, range(33)))
"""Characters that Java's String.trim removes."""


def _substring(F: Any, text: SparkColumn, position: SparkColumn, *length: SparkColumn) -> Any:
    """From the 1-based position, or counted from the end; a start before the text is its start."""
    size = F.length(text)
    from_end = F.greatest(size + position + 1, F.lit(1))
    start = F.when(position < 0, from_end).otherwise(F.greatest(position, F.lit(1)))
    wanted = F.when(length[0] < 0, 0).otherwise(length[0]) if length else size
    return F.when(position.isNotNull(), F.substr(text, start, wanted))


def _end(part: str) -> Any:
    """LEFT or RIGHT. A negative count is the number of characters to omit at the other end, as in
    PostgreSQL."""

    def impl(F: Any, text: SparkColumn, count: SparkColumn) -> SparkColumn:
        size = F.length(text)
        rest = F.greatest(size + count, F.lit(0))
        wanted = F.when(count < 0, rest).otherwise(F.least(count, size))
        start = F.lit(1) if part == "LEFT" else size - wanted + 1
        return F.when(count.isNotNull(), F.substr(text, start, wanted))

    return impl


def _concat(F: Any, *values: SparkColumn) -> SparkColumn:
    return F.concat_ws("", *values)


def _concat_bytes(F: Any, *values: SparkColumn) -> SparkColumn:
    return F.concat(*(F.coalesce(value, F.lit(b"")) for value in values))


def _concat_ws(F: Any, separator: SparkColumn, *values: SparkColumn) -> SparkColumn:
    return F.call_function("array_join", F.array(*values), separator)


def _concat_ws_bytes(F: Any, separator: SparkColumn, *values: SparkColumn) -> SparkColumn:
    present = F.filter(F.array(*values), lambda value: value.isNotNull())
    rest = F.slice(present, F.lit(2), F.size(present))
    joined = F.aggregate(rest, F.get(present, F.lit(0)), lambda a, b: F.concat(a, separator, b))
    return F.when(separator.isNotNull(), F.coalesce(joined, F.lit(b"")))


def _pad(name: str) -> Any:
    def impl(F: Any, text: SparkColumn, length: SparkColumn, pad: SparkColumn) -> SparkColumn:
        padded = getattr(F, name)(text, length, pad)
        return F.when((length >= 0) & (F.length(pad) > 0), padded)

    return impl


def _field(F: Any, text: SparkColumn, *candidates: SparkColumn) -> SparkColumn:
    found = F
    for position, candidate in enumerate(candidates, 1):
        found = found.when(text == candidate, position)
    return found.otherwise(0)


def _instr(F: Any, text: SparkColumn, part: SparkColumn, *rest: SparkColumn) -> SparkColumn:
    if not rest:
        return F.coalesce(F.instr(text, part), F.lit(0))
    position, occurrence = rest[0], rest[1] if len(rest) > 1 else F.lit(1)
    last = F.length(text) - F.length(part) + 1
    places = F.filter(
        F.when(last >= 1, F.sequence(F.lit(1), last)),
        lambda i: F.substr(text, i, F.length(part)) == part,
    )
    forward = F.filter(places, lambda i: i >= position)
    backward = F.reverse(F.filter(places, lambda i: i <= F.length(text) + position + 1))
    chosen = F.when(position > 0, forward).when(position < 0, backward)
    return F.coalesce(F.get(chosen, occurrence - 1), F.lit(0))


def _chr_of_code(F: Any, code: SparkColumn) -> SparkColumn:
    valid = code.between(0, 0xD7FF) | code.between(0xE000, 0x10FFFF)
    return F.when(valid, F.decode(F.unhex(F.lpad(F.hex(code), 8, "0")), "UTF-32"))


_ONE_UNIT = r"\\u(?:[0-9A-CEFa-cef][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2})"
_TWO_UNITS = r"\\u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}"


def _chr_of_escape(F: Any, escape: SparkColumn) -> SparkColumn:
    digits = F.replace(escape, F.lit("\\u"), F.lit(""))
    valid = escape.rlike(f"^(?:{_ONE_UNIT}|{_TWO_UNITS})$")
    return F.when(valid, F.decode(F.unhex(digits), "UTF-16BE"))


def split(F: Any, text: SparkColumn, delimiter: SparkColumn) -> SparkColumn:
    """At each delimiter, taken literally; an empty one splits every character off."""
    quoted = F.concat(
        F.lit(r"\Q"), F.replace(delimiter, F.lit(r"\E"), F.lit(r"\E\\E\Q")), F.lit(r"\E")
    )
    by_delimiter = F.split(text, quoted, -1)
    each_one = F.when(text == "", F.array(text)).otherwise(F.split(text, "(?!^)(?!$)", -1))
    return F.when(delimiter == "", each_one).otherwise(by_delimiter)


_SPECIAL = set(".$|()[{^?*+\\")


def _split_text(F: Any, call: Call, text: SparkColumn, delimiter: SparkColumn) -> SparkColumn:
    given = call.constants[1]
    if not isinstance(given, str) or len(given) != 1 or given > "\ud7ff":
        return split(F, text, delimiter)
    # Java's String.split looks for one character itself, and compiles all else, for each row.
    return F.split(text, F.lit(f"\\{given}" if given in _SPECIAL else given), -1)


def _split_bytes(F: Any, value: SparkColumn, delimiter: SparkColumn) -> SparkColumn:
    # As Latin-1 each byte is one character.
    parts = split(F, F.decode(value, "ISO-8859-1"), F.decode(delimiter, "ISO-8859-1"))
    return F.transform(parts, lambda part: F.encode(part, "ISO-8859-1"))


def _split_to_map(F: Any, text: SparkColumn, entry: SparkColumn, pair: SparkColumn) -> SparkColumn:
    pairs = F.transform(split(F, text, entry), lambda e: split(F, e, pair))
    whole = F.filter(pairs, lambda p: F.size(p) >= 2)
    entries = F.transform(whole, lambda p: F.struct(F.get(p, F.lit(0)), F.get(p, F.lit(1))))
    valid = (entry != "") & (pair != "") & (entry != pair)
    return F.when(valid, F.map_from_entries(entries))


STRINGS = (
    scalar(
        "CONCAT",
        "The concatenation of the arguments; nulls are skipped.",
        _CATEGORY,
        overload("inputs STRING... -> STRING", _concat),
        overload("inputs BYTES... -> BYTES", _concat_bytes),
        example=("CONCAT('a', NULL, 'b')", "'ab'"),
    ),
    scalar(
        "CONCAT_WS",
        "The concatenation of the arguments with a separator; nulls are skipped.",
        _CATEGORY,
        overload("separator STRING, first STRING, others STRING... -> STRING", _concat_ws),
        overload("separator BYTES, first BYTES, others BYTES... -> BYTES", _concat_ws_bytes),
        example=("CONCAT_WS('-', 'a', NULL, 'b')", "'a-b'"),
    ),
    scalar(
        "LCASE",
        "The text in lower case.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, s: F.lower(s)),
        example=("LCASE('ABC')", "'abc'"),
    ),
    scalar(
        "LOWER",
        "The text in lower case; a synonym of LCASE.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, s: F.lower(s)),
        example=("LOWER('ABC')", "'abc'"),
    ),
    scalar(
        "UPPER",
        "The text in upper case; a synonym of UCASE.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, s: F.upper(s)),
        example=("UPPER('abc')", "'ABC'"),
    ),
    scalar(
        "UCASE",
        "The text in upper case.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, s: F.upper(s)),
        example=("UCASE('abc')", "'ABC'"),
    ),
    scalar(
        "INITCAP",
        "The text with each word's first letter in upper case and the others in lower case.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, s: F.initcap(s)),
        example=("INITCAP('the KAFKA log')", "'The Kafka Log'"),
    ),
    scalar(
        "TRIM",
        "The text without blanks at its ends.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, s: F.trim(s, F.lit(_BLANKS))),
        example=("TRIM('  a b ')", "'a b'"),
    ),
    scalar(
        "LEN",
        "The length of a text in characters, or of BYTES in bytes.",
        _CATEGORY,
        each("value {} -> INT", "STRING BYTES", lambda F, s: F.length(s)),
        example=("LEN('abc')", "3"),
    ),
    scalar(
        "SUBSTRING",
        "The substring from a position, counted from 1, or from the end from -1.",
        _CATEGORY,
        each("value {}, position INT -> {}", "STRING BYTES", _substring),
        each("value {}, position INT, length INT -> {}", "STRING BYTES", _substring),
        example=(("SUBSTRING('stream', 2, 3)", "'tre'"), ("SUBSTRING('stream', -2)", "'am'")),
    ),
    *(
        scalar(
            name,
            f"The characters at the {end} of a text; a negative count is the number of characters "
            "to omit.",
            _CATEGORY,
            overload("text STRING, count INT -> STRING", _end(name)),
            example=((f"{name}('stream', 2)", few), (f"{name}('stream', -2)", many)),
        )
        for name, end, few, many in (
            ("LEFT", "beginning", "'st'", "'stre'"),
            ("RIGHT", "end", "'am'", "'ream'"),
        )
    ),
    scalar(
        "INSTR",
        "The position of a substring, counted from 1; 0 if not found. A negative position searches "
        "backwards.",
        _CATEGORY,
        overload("text STRING, part STRING -> INT", _instr),
        overload("text STRING, part STRING, position INT -> INT", _instr),
        overload("text STRING, part STRING, position INT, occurrence INT -> INT", _instr),
        example=(("INSTR('corporate floor', 'or')", "2"), ("INSTR('corporate', 'or', 3)", "5")),
    ),
    scalar(
        "REPLACE",
        "The text with each occurrence of a part replaced.",
        _CATEGORY,
        overload(
            "text STRING, old STRING, new STRING -> STRING",
            lambda F, text, old, new: F.replace(text, old, new),
        ),
        example=("REPLACE('a-b-c', '-', '+')", "'a+b+c'"),
    ),
    scalar(
        "LPAD",
        "The text padded on the left, or truncated, to a length.",
        _CATEGORY,
        each("value {}, length INT, padding {} -> {}", "STRING BYTES", _pad("lpad")),
        example=("LPAD('7', 3, '0')", "'007'"),
    ),
    scalar(
        "RPAD",
        "The text padded on the right, or truncated, to a length.",
        _CATEGORY,
        each("value {}, length INT, padding {} -> {}", "STRING BYTES", _pad("rpad")),
        example=("RPAD('ab', 4, '.')", "'ab..'"),
    ),
    scalar(
        "SPLIT",
        "The parts between delimiters, empty ones included.",
        _CATEGORY,
        overload("text STRING, delimiter STRING -> ARRAY<STRING>", _split_text, with_call=True),
        overload("value BYTES, delimiter BYTES -> ARRAY<BYTES>", _split_bytes),
        example=("SPLIT('a,,b', ',')", "['a', '', 'b']"),
    ),
    scalar(
        "SPLIT_TO_MAP",
        "The map of a text such as `a:1,b:2`.",
        _CATEGORY,
        overload(
            "text STRING, entryDelimiter STRING, keyValueDelimiter STRING -> MAP<STRING, STRING>",
            _split_to_map,
        ),
        example=("SPLIT_TO_MAP('a:1,b:2', ',', ':')", "{'a': '1', 'b': '2'}"),
    ),
    scalar(
        "CHR",
        "The character of a Unicode code point, or of an escape such as `\\u004E`.",
        _CATEGORY,
        overload("code INT -> STRING", _chr_of_code),
        overload("escape STRING -> STRING", _chr_of_escape),
        example=(("CHR(75)", "'K'"), (r"CHR('\u004E')", "'N'")),
    ),
    scalar(
        "ELT",
        "The n-th text, counted from 1, or null.",
        _CATEGORY,
        overload("n INT, texts STRING... -> STRING", lambda F, n, *texts: F.elt(n, *texts)),
        example=("ELT(2, 'a', 'b')", "'b'"),
    ),
    scalar(
        "FIELD",
        "The position of a text among the candidates, counted from 1; 0 if it is not among them.",
        _CATEGORY,
        overload("text STRING, candidates STRING... -> INT", _field),
        example=("FIELD('b', 'a', 'b')", "2"),
    ),
    scalar(
        "MD5",
        "The MD5 digest of a text in hexadecimal digits.",
        _CATEGORY,
        overload("text STRING -> STRING", lambda F, s: F.md5(s)),
        example=("MD5('abc')", "'900150983cd24fb0d6963f7d28e17f72'"),
    ),
)
