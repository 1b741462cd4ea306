"""The charts of tests/cases/charts with PostgreSQL's answers, which stand below `taken`:

    taken
    the columns, name and type
    here: the columns that we give, where they are others
    a line a row

Or, where PostgreSQL refuses what we take, `PostgreSQL: ` and what it says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from datadriven import CASES, Case, read
from postgres.answers import Answered, parsed

FOLDER = CASES / "charts"
TAKEN = "taken"
REFUSED = "PostgreSQL: "
_HERE = "here: "


@dataclass(frozen=True)
class Recorded:
    """What is recorded of a chart: PostgreSQL's answer, or why it refuses the chart."""

    theirs: Answered | None
    refused: str | None
    here: str | None

    def columns(self) -> tuple[tuple[str, str], ...]:
        """Those that we give."""
        if self.here is not None:
            return parsed(self.here).columns
        assert self.theirs is not None
        return self.theirs.columns


def taken() -> list[Case]:
    """The charts that we take."""
    known = [case for path in sorted(FOLDER.glob("*.txt")) for case in read(path)]
    return [case for case in known if case.expected.startswith(TAKEN)]


def recorded(case: Case) -> Recorded:
    """What stands below `taken`."""
    _, *lines = case.expected.split("\n")
    here = [line for line in lines[1:2] if line.startswith(_HERE)]
    head, *rows = [line for line in lines if line not in here] or [REFUSED]
    refused = head.removeprefix(REFUSED) if head.startswith(REFUSED) else None
    theirs = None if refused is not None else parsed("\n".join([head, *rows]))
    return Recorded(theirs, refused, here[0].removeprefix(_HERE) if here else None)


def written(theirs: Answered | str, here: str | None) -> str:
    """What `recorded` reads."""
    head, *rows = (theirs if isinstance(theirs, str) else theirs.text()).split("\n")
    return "\n".join([TAKEN, head, *([] if here is None else [_HERE + here]), *rows])


def differences(ours: Answered, theirs: Answered) -> list[str]:
    """The rows of ours and theirs that are not the same, numbers as doubles are compared. In any
    order: what ORDER BY leaves open differs."""
    left = list(theirs.rows)
    found = []
    for row in ours.rows:
        same = next((other for other in left if _same(row, other)), None)
        if same is None:
            found.append(f"{row} is no row of PostgreSQL's")
        else:
            left.remove(same)
    return found + [f"{row} is missing" for row in left]


def _same(mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    return len(mine) == len(theirs) and all(map(_same_cell, mine, theirs))


def _same_cell(mine: str, theirs: str) -> bool:
    try:
        return mine == theirs or math.isclose(float(mine), float(theirs), rel_tol=1e-9)
    except ValueError:
        return False
