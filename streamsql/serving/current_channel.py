"""An event loop's connection to the current JVM."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from streamsql.executor.services.services import Services

if TYPE_CHECKING:
    from streamsql.serving.channel import Channel, Channels


class CurrentChannel:
    """Channels to the current JVM; those to an earlier one are closed."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._channels: Channels | None = None
        self._lock = threading.Lock()
        """Held while the JVM is asked to listen, never on an event loop."""

    def listen(self) -> None:
        """Let the current JVM listen, if it does not yet. Blocks: to be called in a thread."""
        from streamsql.serving.channel import Channels

        with self._lock:
            spark = self._services.current_spark()
            if spark is None or (self._channels is not None and self._channels.spark is spark):
                return
            self.close()
            self._channels = Channels(spark)

    def get(self) -> Channel | None:
        """A connection of the running event loop to the JVM; None before the JVM listens, and
        while the connection is being made. Asks nothing of the JVM."""
        channels = self._channels
        if channels is None or channels.spark is not self._services.latest_spark():
            return None
        # Its connections end with the JVM.
        return channels.choose()

    def close(self) -> None:
        channels, self._channels = self._channels, None
        if channels is not None:
            channels.close()
