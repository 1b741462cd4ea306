"""The embedded broker of a data folder, and transactions of a cluster, without an engine."""

from __future__ import annotations

from streamsql.kafka.broker import BrokerStatus, broker_status, start_detached, stop_detached
from streamsql.kafka.transactions import Transaction, abort, transactions

__all__ = [
    "BrokerStatus",
    "Transaction",
    "abort",
    "broker_status",
    "start_detached",
    "stop_detached",
    "transactions",
]
