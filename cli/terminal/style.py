"""Colors of the terminal by meaning, or none."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO

_RESET = "\x1b[0m"


@dataclass(frozen=True)
class Style:
    """Colors text by meaning; without `colour` text is unchanged."""

    colour: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """Colors for a terminal unless disabled (NO_COLOR, TERM=dumb)."""
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(stream.isatty() and not plain)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}{_RESET}" if self.colour and text else text

    def header(self, text: str) -> str:
        return self._paint("1", text)

    def title(self, text: str) -> str:
        """The title of a result, in the product's color."""
        return self._paint("1;36", text)

    def frame(self, text: str) -> str:
        """Lines around a table."""
        return self._paint("38;5;244", text)

    def dim(self, text: str) -> str:
        """Less important text."""
        return self._paint("38;5;246", text)

    def null(self, text: str) -> str:
        return self._paint("38;5;244", text)

    def good(self, text: str) -> str:
        return self._paint("32", text)

    def warning(self, text: str) -> str:
        return self._paint("33", text)

    def error(self, text: str) -> str:
        return self._paint("1;31", text)

    def hint(self, text: str) -> str:
        return self._paint("36", text)
