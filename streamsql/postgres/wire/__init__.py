"""The protocol's messages as bytes, version 3.0: pure functions without sockets and SQL."""
