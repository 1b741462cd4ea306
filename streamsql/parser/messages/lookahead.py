"""Possible next tokens, by running the LALR automaton without building anything."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.grammar import Rule

from streamsql import types
from streamsql.parser.tokens.keywords import KEYWORDS

END = "$END"

_TYPE_KEYWORDS = frozenset({"ARRAY", "DECIMAL", "MAP", "STRUCT"})


@dataclass(frozen=True)
class Position:
    """A place in a statement: everything before it has been read."""

    automaton: Any

    @cached_property
    def accepted(self) -> frozenset[str]:
        """The terminals that may come next."""
        return frozenset(str(terminal) for terminal in self.automaton.accepts())

    @cached_property
    def keywords(self) -> frozenset[str]:
        """The words that may come next as keywords, not just as names that look like one."""
        words = self.accepted & KEYWORDS
        return frozenset(word for word in words if not self._is_only_a_name(word))

    @property
    def wants_expression(self) -> bool:
        return {"INTEGER_LITERAL", "CASE", "IDENTIFIER"} <= self.accepted

    @property
    def wants_type(self) -> bool:
        return not self.wants_expression and self.keywords >= _TYPE_KEYWORDS

    @property
    def words(self) -> frozenset[str]:
        """The keywords, and the names of types where a type may come."""
        return self.keywords | types.PRIMITIVES.keys() if self.wants_type else self.keywords

    def _is_only_a_name(self, word: str) -> bool:
        after = self.automaton.copy(deepcopy_values=False)
        after.feed_token(Token(word, ""))
        # The next step is a state to shift to (an int) or a rule to reduce by.
        targets = (target for _, target in after.choices().values())
        return all(isinstance(rule, Rule) and rule.origin.name == "word" for rule in targets)


def read(lark: Lark, start: str, tokens: list[Token]) -> tuple[Position, int]:
    """Reads as many tokens as it can: the place it got to and how many they were."""
    automaton: Any = lark.parse_interactive("", start=start)
    automaton.parser_state.parse_conf.callbacks = {}
    for count, token in enumerate(tokens):
        before = automaton.copy(deepcopy_values=False)
        try:
            automaton.feed_token(token)
        except UnexpectedToken:
            return Position(before), count
    return Position(automaton), len(tokens)
