"""Names of columns in the text of a property."""

from __future__ import annotations

import re

from streamsql.planner.with_clause.properties import WithProperties

NAME = r"""(?:`(?P<ticked>(?:[^`]|``)+)`|"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[A-Za-z_][\w@]*))"""
"""The pattern of a name; `name_of` reads its match."""
_LISTED = re.compile(rf"\s*{NAME}\s*(?:,|$)")


def name_of(match: re.Match[str]) -> str:
    """The name in a match of `NAME`: in upper case unless it is quoted."""
    if match["plain"]:
        return match["plain"].upper()
    ticked, quoted = match["ticked"], match["quoted"]
    return ticked.replace("``", "`") if ticked else quoted.replace('""', '"')


def listed_names(name: str, given: WithProperties) -> tuple[str, ...]:
    """The names in the list that the property has; none without the property."""
    text = given.text(name)
    if text is None:
        return ()
    names, place = [], 0
    while match := _LISTED.match(text, place):
        names.append(name_of(match))
        place = match.end()
    ends_in_comma = text.rstrip().endswith(",")
    if place < len(text) or not names or ends_in_comma or len(set(names)) < len(names):
        raise given.invalid(name, f"'{text}' is not a list of columns", "a, b")
    return tuple(names)
