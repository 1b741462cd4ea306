"""Clients of an engine: the remote shell and Python programs. `transport` speaks HTTP, `wire*` is
the encoding, `remote` has the interface of an engine, and `connection` is the API of Python
programs, over a remote or an embedded engine."""
