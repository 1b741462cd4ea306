"""Files that say what a server is to run: planned by it, applied and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from streamsql.api.changing import ChangePlan
from streamsql.client.received import Received
from streamsql.client.transport import Transport
from streamsql.results import Result
from streamsql.run_script import NamedText
from streamsql.session import Session

PLAN = "/streamsql/plan"
APPLY = "/streamsql/apply"
_UNDO = {"undo": True}
_LEFT = {"fromWhatIsLeft": True}
"""Left out where it is not asked for: an earlier server does not know it."""


class RemoteChanges:
    """Engine.changes of a server."""

    def __init__(self, transport: Transport, session: Session) -> None:
        self._transport = transport
        self._session = session

    def plan(
        self,
        texts: Sequence[NamedText],
        variables: Mapping[str, str] | None = None,
        *,
        prune: bool = False,
    ) -> ChangePlan:
        return self._plan(self._files(texts, variables or {}, prune))

    def apply(
        self,
        texts: Sequence[NamedText],
        variables: Mapping[str, str] | None = None,
        *,
        prune: bool = False,
        from_what_is_left: bool = False,
    ) -> list[Result]:
        """Applies the files atomically; returns messages."""
        files = self._files(texts, variables or {}, prune)
        return self._apply(files | _LEFT if from_what_is_left else files)

    def stage(
        self,
        texts: Sequence[NamedText],
        variables: Mapping[str, str] | None = None,
        *,
        prune: bool = False,
        from_what_is_left: bool = False,
    ) -> list[Result]:
        """Builds the rebuilds of `apply` without switching; returns their locations."""
        files = self._files(texts, variables or {}, prune) | {"stage": True}
        return self._apply(files | _LEFT if from_what_is_left else files)

    def promote(self) -> list[Result]:
        """Switches to the staged change; returns messages."""
        return self._apply({"promote": True})

    def discard(self) -> list[Result]:
        return self._apply({"discard": True})

    def plan_undo(self) -> ChangePlan:
        return self._plan(_UNDO)

    def undo(self, *, from_what_is_left: bool = False) -> list[Result]:
        """Reverts the last applied set of any user; returns messages."""
        return self._apply(_UNDO | _LEFT if from_what_is_left else _UNDO)

    def _files(
        self, texts: Iterable[NamedText], variables: Mapping[str, str], prune: bool
    ) -> dict[str, Any]:
        return {
            "files": [{"name": text.name, "sql": text.sql} for text in texts],
            "properties": self._session.properties,
            "sessionVariables": {**self._session.variables, **variables},
            "prune": prune,
        }

    def _plan(self, body: Mapping[str, Any]) -> ChangePlan:
        answer = self._transport.stream(PLAN, body)
        content = next(iter(answer))
        answer.finish()
        return ChangePlan.from_json(content)

    def _apply(self, body: Mapping[str, Any]) -> list[Result]:
        answer = Received(self._transport.stream(APPLY, body), "", self._session)
        try:
            return list(answer.results())
        finally:
            answer.close()
