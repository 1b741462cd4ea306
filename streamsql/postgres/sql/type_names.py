"""PostgreSQL's names of types, where a text casts to them, as the dialect spells them."""

from __future__ import annotations

from collections.abc import Sequence

_WORDS = {
    **dict.fromkeys(
        ("text", "char", "character", "character varying", "bpchar", "name", "uuid", "json"),
        "STRING",
    ),
    "jsonb": "STRING",
    "bool": "BOOLEAN",
    **dict.fromkeys(("int2", "int4", "smallint"), "INT"),
    "int8": "BIGINT",
    **dict.fromkeys(("float", "float4", "float8", "real", "double precision"), "DOUBLE"),
    # Of any precision, as no type here: a double is the nearest.
    **dict.fromkeys(("numeric", "decimal"), "DOUBLE"),
    **dict.fromkeys(
        ("timestamptz", "timestamp with time zone", "timestamp without time zone"), "TIMESTAMP"
    ),
    "timestamp": "TIMESTAMP",
    "time without time zone": "TIME",
    "bytea": "BYTES",
}
_EXACT = ("numeric", "decimal")
_LONGEST = 4


def type_name(tokens: Sequence[str]) -> tuple[int, str] | None:
    """The type at the start of a text: its number of tokens (without blanks and comments) and its
    equivalent. None if the name is the same, or unknown."""
    for length in range(min(_LONGEST, len(tokens)), 0, -1):
        name = " ".join(tokens[:length]).lower()
        if name in _WORDS:
            return _with_rest(name, tokens, length)
    return None


def _with_rest(name: str, tokens: Sequence[str], at: int) -> tuple[int, str]:
    """With length or precision, and brackets."""
    found = _WORDS[name]
    if tokens[at : at + 1] == ["("]:
        end = list(tokens).index(")", at) if ")" in tokens[at:] else at
        given = [token for token in tokens[at + 1 : end] if token != ","]
        if name in _EXACT and 1 <= len(given) <= 2:
            found = f"DECIMAL({given[0]}, {given[1] if len(given) == 2 else 0})"
        at = end + 1
        # TIMESTAMP(3) WITH TIME ZONE
        if [token.lower() for token in tokens[at + 1 : at + 3]] == ["time", "zone"]:
            at += 3
    if list(tokens[at : at + 2]) == ["[", "]"]:
        return at + 2, f"ARRAY<{found}>"
    return at, found
