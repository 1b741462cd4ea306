"""The way of an event loop to the JVM that runs just now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamsql.executor.services.services import Services

if TYPE_CHECKING:
    from streamsql.serving.channel import Channel, Channels


class CurrentChannel:
    """Channels to the current JVM; those to an earlier one are closed."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._channels: Channels | None = None

    def get(self) -> Channel | None:
        """A connection of the running event loop to the JVM; None before there is one."""
        from streamsql.serving.channel import Channels

        channels = self._channels
        if channels is not None and channels.spark is self._services.latest_spark():
            # Its connections end with the JVM.
            channel = channels.choose()
            if channel is not None:
                return channel
        spark = self._services.current_spark()
        if spark is None:
            return None
        if channels is None or channels.spark is not spark:
            self.close()
            self._channels = channels = Channels(spark)
        return channels.choose()

    def close(self) -> None:
        """Close what is open."""
        channels, self._channels = self._channels, None
        if channels is not None:
            channels.close()
