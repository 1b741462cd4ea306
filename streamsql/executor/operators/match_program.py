"""Patterns of MATCH_RECOGNIZE as programs, which the state operator runs (MatchProgram)."""

from __future__ import annotations

from collections.abc import Sequence

from streamsql.errors import InternalError
from streamsql.nodes import (
    Pattern,
    PatternAlternatives,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
)


def variables_of(pattern: Pattern) -> list[str]:
    """The variables in order of appearance; programs refer to them by their index."""
    match pattern:
        case PatternVariable():
            return [pattern.name]
        case PatternRepeat():
            return variables_of(pattern.part)
        case PatternSequence() | PatternAlternatives():
            found = (name for part in pattern.parts for name in variables_of(part))
            return list(dict.fromkeys(found))
    raise InternalError(f"{type(pattern).__name__} has no program")


def program(pattern: Pattern) -> str:
    """`0;f3,1;e`: match a row of variable 0, continue at 3 or otherwise 1, the match is
    complete."""
    made = _Program(variables_of(pattern))
    made.add(pattern)
    return ";".join([*made.instructions, "e"])


class _Program:
    """Instructions, each with its place."""

    def __init__(self, variables: Sequence[str]) -> None:
        self._variables = variables
        self.instructions: list[str] = []

    @property
    def _next(self) -> int:
        return len(self.instructions)

    def add(self, pattern: Pattern) -> None:
        match pattern:
            case PatternVariable():
                self.instructions.append(str(self._variables.index(pattern.name)))
            case PatternSequence():
                for part in pattern.parts:
                    self.add(part)
            case PatternAlternatives():
                self._add_alternatives(pattern.parts)
            case PatternRepeat():
                self._add_repeat(pattern)

    def _add_alternatives(self, parts: Sequence[Pattern]) -> None:
        ends: list[int] = []
        for part in parts[:-1]:
            fork = self._hold()
            self.add(part)
            ends.append(self._hold())
            self._fork(fork, fork + 1, self._next)
        self.add(parts[-1])
        for end in ends:
            self._fork(end, self._next, self._next)

    def _add_repeat(self, repeat: PatternRepeat) -> None:
        for _ in range(repeat.least):
            self.add(repeat.part)
        if repeat.most is None:
            again = self._hold()
            self.add(repeat.part)
            self._fork(self._hold(), again, again)
            self._choose(again, repeat.reluctant)
            return
        more = []
        for _ in range(repeat.most - repeat.least):
            more.append(self._hold())
            self.add(repeat.part)
        for fork in more:
            self._choose(fork, repeat.reluctant)

    def _hold(self) -> int:
        """The index of an instruction that is set later."""
        self.instructions.append("")
        return self._next - 1

    def _choose(self, fork: int, reluctant: bool) -> None:
        """Continues after the fork, otherwise with the next instruction; reversed if reluctant."""
        ways = (fork + 1, self._next)
        self._fork(fork, *(reversed(ways) if reluctant else ways))

    def _fork(self, place: int, preferred: int, other: int) -> None:
        self.instructions[place] = f"f{preferred},{other}"
