"""A token that does not fit, with what the hints ask about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lark import Lark, Token

from streamsql.parser.messages.lookahead import END, Position, read
from streamsql.parser.tokens.keywords import KEYWORDS
from streamsql.parser.tokens.lexer import is_quoted


@dataclass(frozen=True)
class Trouble:
    """The statement's tokens, of which the one at `index` does not fit (all were read where the
    statement ends too early)."""

    lark: Lark
    start: str
    tokens: list[Token]
    index: int
    position: Position

    @property
    def found(self) -> str:
        """The terminal that does not fit."""
        return self.type_at(0)

    def type_at(self, offset: int) -> str:
        """The terminal at a distance from the one that does not fit."""
        i = self.index + offset
        return self.tokens[i].type if 0 <= i < len(self.tokens) else END

    def word_at(self, index: int) -> str | None:
        """The token in upper case if it is a word without quotes."""
        if not 0 <= index < len(self.tokens):
            return None
        token = self.tokens[index]
        if token.type not in KEYWORDS and (token.type != "IDENTIFIER" or is_quoted(token)):
            return None
        return str(token).upper()

    def before(self, index: int) -> Position:
        """The place before an earlier token."""
        if index == self.index:
            return self.position
        return read(self.lark, self.start, self.tokens[:index])[0]

    def progress_with(self, index: int, *instead: str) -> int:
        """How far one would get (as an index, past the end if to the end) with other terminals
        in the place of one token."""
        tokens = list(self.tokens)
        tokens[index : index + 1] = [Token(terminal, "") for terminal in instead]
        position, count = read(self.lark, self.start, tokens)
        extra = len(instead) - 1
        complete = count == len(tokens) and END in position.accepted
        return count - extra + complete

    @cached_property
    def open_brackets(self) -> list[Token]:
        """The brackets before the token that are not closed."""
        stack: list[Token] = []
        for token in self.tokens[: self.index]:
            if token.type in ("LPAR", "LSQB", "LAMBDA_PAREN"):
                stack.append(token)
            elif token.type in ("RPAR", "RSQB") and stack:
                stack.pop()
        return stack
