"""A query's numbers as SHOW QUERIES EXTENDED says them."""

from __future__ import annotations

import time

from streamsql.status import Percentiles, QueryMetrics

_UNITS = ("B", "kB", "MB", "GB", "TB")


def metrics_lines(metrics: QueryMetrics | None) -> dict[str, str]:
    """Titles and texts; empty for a query that has not started."""
    if metrics is None:
        return {}
    lines = {"Records in": _amount(metrics.records_in, metrics.bytes_in)}
    if metrics.records_out is not None:
        last = _ago(metrics.last_out_ms)
        lines["Records out"] = _amount(metrics.records_out, metrics.bytes_out) + last
    if metrics.errors is not None:
        lines["Failed"] = f"{metrics.errors:,} (in the processing log)" if metrics.errors else "0"
    if late := late_rows(metrics):
        lines["Late"] = late
    if metrics.violations:
        counts = (f"{name} {count:,}" for name, count in sorted(metrics.violations.items()))
        lines["Violated"] = ", ".join(counts)
    if metrics.records_lost:
        lines["Lost"] = f"{metrics.records_lost:,} deleted before they were read"
    for window, latencies in metrics.recent.items():
        lines[f"Latency {window}"] = _latency(latencies)
    if metrics.batch_ms is not None:
        lines["Batches"] = f"{metrics.batches:,}, the last one took {metrics.batch_ms:,} ms"
    if metrics.state_rows is not None:
        memory, disk = size(metrics.state_memory_bytes or 0), size(metrics.state_disk_bytes or 0)
        lines["Kept"] = f"{metrics.state_rows:,} entries, {memory} in memory, {disk} in files"
    return lines


def late_rows(metrics: QueryMetrics | None) -> str | None:
    """Number of rows dropped as late; None if zero.

    >>> late_rows(QueryMetrics(rows_late=1200))
    '1,200 rows came after their window had closed'
    """
    if metrics is None or not metrics.rows_late:
        return None
    rows = "row came after its" if metrics.rows_late == 1 else "rows came after their"
    return f"{metrics.rows_late:,} {rows} window had closed"


def size(count: int) -> str:
    """A number of bytes for display: 999 B, 1.5 kB.

    >>> size(999), size(1500), size(12_000_000)
    ('999 B', '1.5 kB', '12 MB')
    """
    value, unit = float(count), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit and value < 9.95 else f"{value:.0f} {_UNITS[unit]}"


def _amount(records: int, bytes: int | None) -> str:
    return f"{records:,}" if bytes is None else f"{records:,} ({size(bytes)})"


def _ago(at_ms: int | None) -> str:
    if at_ms is None:
        return ""
    return f", the last one {max(0.0, time.time() - at_ms / 1000):.0f} s ago"


def _latency(found: Percentiles) -> str:
    parts = [f"{name} {getattr(found, name):,} ms" for name in ("p50", "p95", "p99", "max")]
    return f"{', '.join(parts)} (from the record's timestamp to the result in Kafka)"
