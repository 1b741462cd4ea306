"""Common parts of statements: text, position, and effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from streamsql.errors import Span


class Effect(Enum):
    """What a statement can change, declared by each class."""

    READS = "nothing but its own session"
    WRITES = "records of topics"
    DEFINES = "whether it changes the catalog: it is logged, and only the leader runs it"
    DEFINES_CODE = "as DEFINES, and it brings code of the user's"
    DEFINES_FILES = "as DEFINES, and it writes files wherever the user says"
    ACTS_OUTSIDE = "another system, which it has act"

    @property
    def logged(self) -> bool:
        """Whether the statement goes to the statement log, to be replayed at the next start."""
        return self in (Effect.DEFINES, Effect.DEFINES_CODE, Effect.DEFINES_FILES)


@dataclass(frozen=True)
class Statement:
    """The base of all; `text` is the source text without `;`, `span` its place in the script."""

    effect: ClassVar[Effect]
    creates: ClassVar[str | None] = None
    """Kinds of the objects that the statement creates, changes and ends, as in `Catalog.kinds`; the
    object is called by its `name`."""
    changes: ClassVar[str | None] = None
    ends: ClassVar[str | None] = None
    text: str = field(default="", compare=False, kw_only=True)
    span: Span | None = field(default=None, compare=False, kw_only=True)
