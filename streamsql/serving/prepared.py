"""Statements that are prepared in the JVM, found again by their names."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from streamsql.catalog import Catalog
from streamsql.properties import CONSISTENCY_TIMEOUT, CONSISTENCY_TOKEN, VIEW_EPOCH
from streamsql.serving.origins import Origins, unchanged

if TYPE_CHECKING:
    from streamsql.serving.table import Registered

_OF_READING = (CONSISTENCY_TOKEN, CONSISTENCY_TIMEOUT, VIEW_EPOCH)
RELEASE_SECONDS = 10.0


class Preparation(Protocol):
    """What was prepared: from which objects of the catalog, and how the JVM is asked for it."""

    @property
    def origins(self) -> Origins: ...

    @property
    def asked(self) -> Registered: ...


P = TypeVar("P", bound=Preparation)


class PreparedStatements(Generic[P]):
    """The prepared statements of one engine; None marks a name without one. Thread-safe."""

    def __init__(self, most: int) -> None:
        """Keeps `most` of them."""
        self._most = most
        self._catalog: Catalog | None = None
        self._prepared: dict[Hashable, P | None] = {}
        self._lock = threading.Lock()

    def adopt(self, catalog: Catalog) -> None:
        """Keeps the statements whose objects are unchanged; names without one are tried again."""
        if self._catalog is catalog:
            return
        with self._lock:
            before = self._prepared
            self._prepared = {
                n: p for n, p in before.items() if p and unchanged(p.origins, catalog)
            }
            forgotten = [p.asked for n, p in before.items() if p and n not in self._prepared]
            self._catalog = catalog
        release(forgotten)

    def get(self, name: Hashable) -> P | None:
        return self._prepared.get(name)

    def __contains__(self, name: Hashable) -> bool:
        return name in self._prepared

    def put(self, name: Hashable, prepared: P | None, catalog: Catalog) -> None:
        """Keeps a statement that was prepared for this catalog, if it is still the adopted one."""
        forgotten: list[Registered] = []
        with self._lock:
            if self._catalog is catalog:
                if len(self._prepared) >= self._most:
                    oldest = self._prepared.pop(next(iter(self._prepared)))
                    forgotten += [] if oldest is None else [oldest.asked]
                self._prepared[name] = prepared
            elif prepared is not None:
                forgotten.append(prepared.asked)
        release(forgotten)

    def discard(self, name: Hashable) -> None:
        with self._lock:
            gone = self._prepared.pop(name, None)
        release([] if gone is None else [gone.asked])


def planned_by(properties: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The properties of a session that decide how a SELECT is planned, as a part of its name."""
    return tuple(sorted(item for item in properties.items() if item[0] not in _OF_READING))


def release(forgotten: list[Registered]) -> None:
    """Let the JVM forget, when questions that are on their way have been answered."""

    def close() -> None:
        for asked in forgotten:
            asked.close()

    if forgotten:
        timer = threading.Timer(RELEASE_SECONDS, close)
        timer.daemon = True
        timer.start()
