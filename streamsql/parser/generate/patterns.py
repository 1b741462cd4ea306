"""Patterns of MATCH_RECOGNIZE to canonical SQL."""

from __future__ import annotations

from functools import singledispatch

from streamsql import nodes as n
from streamsql.errors import InternalError
from streamsql.parser.generate.expressions import name
from streamsql.parser.generate.text import listed

_QUANTIFIERS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


@singledispatch
def pattern(node: object) -> str:
    """A pattern without parentheses around it."""
    raise InternalError(f"no SQL text for the pattern {type(node).__name__}")


@pattern.register
def _variable(node: n.PatternVariable) -> str:
    return name(node.name)


@pattern.register
def _sequence(node: n.PatternSequence) -> str:
    return " ".join(map(_part, node.parts))


@pattern.register
def _alternatives(node: n.PatternAlternatives) -> str:
    return " | ".join(
        _part(part) if isinstance(part, n.PatternAlternatives) else pattern(part)
        for part in node.parts
    )


@pattern.register
def _permutation(node: n.PatternPermutation) -> str:
    return listed(*map(pattern, node.parts))


@pattern.register
def _repeat(node: n.PatternRepeat) -> str:
    part = f"({pattern(node.part)})" if isinstance(node.part, n.PatternRepeat) else _part(node.part)
    return part + _quantifier(node) + ("?" if node.reluctant else "")


def _quantifier(node: n.PatternRepeat) -> str:
    known = _QUANTIFIERS.get((node.least, node.most))
    if known is not None:
        return known
    if node.least == node.most:
        return f"{{{node.least}}}"
    return f"{{{node.least},{'' if node.most is None else node.most}}}"


@pattern.register
def _exclusion(node: n.PatternExclusion) -> str:
    return f"{{- {pattern(node.part)} -}}"


@pattern.register
def _anchor(node: n.PatternAnchor) -> str:
    return node.mark


def _part(node: n.Pattern) -> str:
    if isinstance(node, n.PatternSequence | n.PatternAlternatives):
        return f"({pattern(node)})"
    return pattern(node)
