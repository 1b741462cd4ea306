"""Representations of SQL values.

`scalars` is the table of scalar types: Python class, text, JSON, and encoding in records. `nested`
extends a representation to ARRAY, MAP and STRUCT. `wire` is the protocol between client and server,
`records` encodes Kafka records, `python` converts arguments of programs. A value in Python is:
bool, int, float, Decimal, str, bytes, date, time, a naive datetime in UTC, list, dict (of a STRUCT
by field name) or None; times have milliseconds.
"""
