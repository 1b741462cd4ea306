"""The operators `->` and `->>` over JSON texts."""

from __future__ import annotations

from sqlglot import exp

from streamsql.errors import UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.scopes.spans import span_of


def value_and_path(node: exp.JSONExtract | exp.JSONExtractScalar) -> tuple[Expression, str]:
    """The JSON text and the path in it, such as `$['a'][0]`, of a chain of operators."""
    steps, value = [_step(node.expression)], node.this
    while isinstance(value, exp.JSONExtract):
        steps.append(_step(value.expression))
        value = value.this
    return value, "$" + "".join(reversed(steps))


def _step(key: Expression) -> str:
    if not key.args.get("is_string"):
        return f"[{key.name}]"
    if "'" in key.name:
        raise UnsupportedError(
            "A key of a JSON object with a quote is not supported.", span=span_of(key)
        )
    return f"['{key.name}']"
