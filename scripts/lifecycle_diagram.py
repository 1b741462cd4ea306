"""Draws the life cycle of a query from the table of its transitions, as a Mermaid state diagram.

    python scripts/lifecycle_diagram.py docs/design/query-lifecycle.md

writes the diagram into the document, between its fences.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from streamsql.executor.queries.lifecycle import ACTIVE, ENDS, IDLE, TABLE

FENCE = re.compile(r"(?<=^```mermaid\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
GROUPS = {"Idle": IDLE, "Running": ACTIVE, "Terminated": ENDS}
ARROW = "    {} --> {}: {}"


def diagram() -> str:
    """The phases in two groups. An arrow from or to a group is one of each of its phases."""
    arrows: dict[tuple[str, str], set[str]] = {}
    for (source, event), (_, targets) in TABLE.items():
        for target in targets:
            if target is not source:
                arrows.setdefault((source.__name__, target.__name__), set()).add(_label(event))
    for name, group in GROUPS.items():
        names = [phase.__name__ for phase in group]
        for of in (0, 1):
            _merge(arrows, name, names, of)
    lines = ["stateDiagram-v2", "    [*] --> Ready", "    Removed --> [*]"]
    for name, group in GROUPS.items():
        members = [f"        {phase.__name__}" for phase in group]
        lines += [f"    state {name} {{", *members, "    }"]
    lines += [ARROW.format(*ends, ", ".join(sorted(of))) for ends, of in sorted(arrows.items())]
    return "\n".join(lines) + "\n"


def _merge(arrows: dict[tuple[str, str], set[str]], name: str, names: list[str], of: int) -> None:
    """Draw what all phases of a group have in common, to or from the others, as one arrow."""
    others = {ends[1 - of] for ends in arrows} - set(names)
    for other in others:
        pairs = [(one, other) if of == 0 else (other, one) for one in names]
        common = set.intersection(*(arrows.get(pair, set()) for pair in pairs))
        if not common:
            continue
        for pair in pairs:
            arrows[pair] -= common
            if not arrows[pair]:
                del arrows[pair]
        arrows[(name, other) if of == 0 else (other, name)] = common


def _label(event: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", event.__name__).lower()


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(FENCE.sub(diagram().replace("\\", r"\\"), path.read_text("utf-8")), "utf-8")
