"""The protocol's messages as bytes, version 3.0: pure functions that know no socket and no SQL."""
