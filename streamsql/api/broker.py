"""The embedded broker of a data folder, without an engine."""

from __future__ import annotations

from streamsql.kafka.broker import BrokerStatus, broker_status, start_detached, stop_detached

__all__ = ["BrokerStatus", "broker_status", "start_detached", "stop_detached"]
