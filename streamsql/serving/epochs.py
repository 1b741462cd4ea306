"""The epoch as of which a pull query reads its views (io.streamsql.serving.CommonEpoch)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from streamsql.errors import ConfigError, ExternalError
from streamsql.properties import VIEW_HISTORY

if TYPE_CHECKING:
    from streamsql.serving.table import StoredTable

_NONE, _LATE = -1, -2
"""Answers of CommonEpoch that are no epochs."""


@dataclass(frozen=True)
class Wanted:
    """What a query asks for; by default the newest epoch."""

    epoch: int | None = None
    time: int | None = None
    """In ms since the Unix epoch: the newest epoch that had begun by then."""
    least: int | None = 0
    """The number that the newest one has at least; None: that of any of the stores now."""


class IncludedWrites:
    """By consistency token, an epoch that includes its writes, as all later ones do; thread-safe.

    A session reads with the token of its last write from then on. Only the first such read has to
    wait for what the stores have at that moment.
    """

    MOST = 1_000

    def __init__(self) -> None:
        self._epochs: dict[str, int] = {}
        self._lock = threading.Lock()

    def epoch(self, token: str) -> int | None:
        return self._epochs.get(token)

    def put(self, token: str, epoch: int) -> None:
        with self._lock:
            self._epochs.setdefault(token, epoch)
            while len(self._epochs) > self.MOST:
                del self._epochs[next(iter(self._epochs))]


def common_epoch(views: Mapping[str, StoredTable], wanted: Wanted) -> int | None:
    """The epoch of all of the views, by name; None: there are none, or a single one, which is
    between two epochs. ExternalError where there is none as wanted."""
    from streamsql.executor.spark.bridge import Bridge
    from streamsql.serving.table import reading

    if not views:
        return None
    names = ", ".join(sorted(views))
    tables = list(views.values())
    with reading(names):
        if len(tables) == 1 and wanted == Wanted():
            # It is always of one moment, also between two epochs.
            return _number(tables[0].epoch())
        choice = Bridge.of(tables[0].spark).common_epoch()
        for table in tables:
            table.offer(choice)
        if wanted.epoch is not None:
            if not choice.has(wanted.epoch):
                raise _not_kept(names, f"epoch {wanted.epoch}", choice, wanted.epoch)
            return wanted.epoch
        if wanted.time is None:
            least = choice.current() if wanted.least is None else wanted.least
            found = int(choice.newest(least))
        else:
            _check_past(wanted.time)
            found = int(choice.asOf(wanted.time))
            if found == _NONE:
                raise _not_kept(names, f"TIMESTAMP '{_text(wanted.time)}'", choice, 0)
    if found == _LATE:
        raise ExternalError(
            f"{names} have no epoch in common that is new enough: one is paused, slow, or has "
            "failed",
            retryable=True,
            hint="SHOW QUERIES shows which query is behind.",
        )
    return _number(found)


def _number(found: int) -> int | None:
    return None if found == _NONE else found


def _check_past(moment: int) -> None:
    if moment > time.time_ns() // 1_000_000:
        raise ConfigError(
            f"TIMESTAMP '{_text(moment)}' has not come yet",
            hint="AS OF reads the past. Leave it out to read the newest epoch.",
        )


def _not_kept(names: str, what: str, choice: Any, epoch: int) -> ExternalError:
    kept = json.loads(str(choice.around(epoch)))
    if not kept:
        known = "Kept are no epochs yet"
    else:
        first, last = kept["first"], kept["last"]
        known = f"Kept are epochs from {first[0]} ({_text(first[1])}) to {last[0]}"
        if epoch and first[0] < epoch < last[0]:
            skipped = f"{kept['before'][0]} and {kept['after'][0]}"
            known += f", of which a view that was behind has taken those between {skipped} in one"
    return ExternalError(
        f"the rows of {names} are not kept as of {what}",
        retryable=False,
        hint=f"{known}; '{VIEW_HISTORY}' says for how long.",
    )


def _text(millis: int) -> str:
    """A time as SQL has it, in UTC."""
    moment = datetime.fromtimestamp(millis / 1000, UTC)
    return moment.replace(tzinfo=None).isoformat(" ", "milliseconds")
