"""Maps of Python as Java's, for calls of the JVM part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def java_map(jvm: Any, content: Mapping[Any, Any]) -> Any:
    """A java.util.HashMap of what py4j can pass on; `jvm` is a session's view of its JVM. An int
    becomes an Integer, or a Long where that is too small."""
    found = jvm.java.util.HashMap()
    for name, value in content.items():
        found.put(name, value)
    return found
