"""What of a plan its state and its offsets depend on, in words and as a number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.combined import parts_of
from streamsql.planner.operators.derived import Derived
from streamsql.planner.operators.distinct import Distinct
from streamsql.planner.operators.filter import Filter, remembers_passed
from streamsql.planner.operators.items import Named
from streamsql.planner.operators.join import Join
from streamsql.planner.operators.match import Match, column_text, keys_text, match_text
from streamsql.planner.operators.operator import Operator
from streamsql.planner.operators.over import Over
from streamsql.planner.operators.scan import Scan
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.operators.union import Union
from streamsql.planner.scopes.text import expression_text


def fingerprint(root: Operator) -> str:
    """The same for plans whose operators keep the same: in every process, and whatever rules have
    made of projections and of filters that keep nothing."""
    text = "\n".join(kept_parts(root, root))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kept_parts(node: Operator, root: Operator) -> Iterator[str]:
    """A line for each operator that reads rows or keeps some, from the sources on."""
    for child in node.inputs:
        yield from kept_parts(child, root)
    match node:
        case Scan():
            yield f"reads {node.source.name} from {node.source.topic.name}"
        case Derived(by_clock=True):
            yield "by the clock"
        case Union():
            yield "union"
        case Join():
            left, right = (
                ", ".join(map(expression_text, parts_of(on)))
                for on in (node.left_on, node.right_on)
            )
            yield f"{node.type.value} {node.join_kind.value} join of {left} and {right}"
            if node.window is not None:
                times = (node.window.before_ms, node.window.after_ms, node.window.lateness_ms)
                yield "within " + ", ".join(map(str, times))
        case Aggregate():
            yield f"grouped by {_texts(node.keys)}: {_texts(node.aggregates)}"
            if (w := node.window) is not None:
                sizes = (size.ms if size else None for size in (w.size, w.advance, w.grace))
                yield f"in {w.type.value} windows of {[*sizes]}"
        case TopN():
            order = ", ".join(f"{expression_text(o.expression)} {o.descending}" for o in node.order)
            ranks = f" by {node.ranks.value}" if node.rank else ""
            yield f"the first {node.count} of {_texts(node.keys)} by {order}{ranks}"
        case Over():
            yield f"over {', '.join(map(expression_text, node.keys))} by time, {node.grace_ms}"
            for call in node.calls:
                frame = (call.lag, call.frame.rows, call.frame.ms, call.frame.peers)
                yield f"{expression_text(call.expression)} over {frame}"
        case Match():
            yield f"matches of {keys_text(node)} by time, {node.grace_ms}: {match_text(node)}"
            yield from map(column_text, node.decisive)
        case Distinct():
            window = f" in {node.window.size.ms}" if node.window else ""
            yield f"distinct {', '.join(c.name for c in node.schema)}{window}"
        case Filter() if remembers_passed(node, root):
            yield f"remembers who passes {node.clause}"


def _texts(items: Iterable[Named]) -> str:
    return ", ".join(expression_text(item.expression) for item in items)
