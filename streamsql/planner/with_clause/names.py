"""Names of columns in the text of a property."""

from __future__ import annotations

import re

NAME = r"""(?:`(?P<ticked>(?:[^`]|``)+)`|"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[A-Za-z_][\w@]*))"""
"""The pattern of a name; `name_of` reads its match."""


def name_of(match: re.Match[str]) -> str:
    """The name in a match of `NAME`: in upper case unless it is quoted."""
    if match["plain"]:
        return match["plain"].upper()
    ticked, quoted = match["ticked"], match["quoted"]
    return ticked.replace("``", "`") if ticked else quoted.replace('""', '"')
