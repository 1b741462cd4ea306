"""Which changes of a JSON schema keep documents valid: does the reader's schema allow all that the
writer's does? Checks types, properties, required ones, items, enums, bounds and alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def json_problems(reader: Any, writer: Any) -> list[str]:
    """Each way in which the reader's schema is narrower, with its place."""
    check = _Check(reader, writer)
    check.compare(reader, writer, "#")
    return check.found


class _Check:
    def __init__(
        self, reader: Any, writer: Any, seen: frozenset[tuple[int, int]] = frozenset()
    ) -> None:
        """`seen` are pairs that are being compared already: a schema may refer to itself."""
        self.found: list[str] = []
        self._roots = reader, writer
        self._seen = set(seen)

    def compare(self, reader: Any, writer: Any, path: str) -> None:
        reader, writer = _resolve(reader, self._roots[0]), _resolve(writer, self._roots[1])
        if (id(reader), id(writer)) in self._seen:
            return
        self._seen.add((id(reader), id(writer)))
        if reader is True or reader == {} or writer is False:
            return
        if reader is False or not isinstance(writer, dict):
            self._add("TYPE_NARROWED", path)
            return
        if _alternatives(reader) is not None or _alternatives(writer) is not None:
            self._alternatives(reader, writer, path)
            return
        self._types(reader, writer, path)
        self._bounds(reader, writer, path)
        if "properties" in reader or "properties" in writer or "required" in reader:
            self._object(reader, writer, path)
        if isinstance(reader.get("items"), dict | bool):
            self.compare(reader["items"], writer.get("items", True), f"{path}/items")

    def _types(self, reader: Mapping[str, Any], writer: Mapping[str, Any], path: str) -> None:
        read, written = _types(reader), _types(writer)
        if "number" in read:
            read = read | {"integer"}
        if read and (not written or not written <= read):
            self._add("TYPE_CHANGED" if not written & read else "TYPE_NARROWED", path)
        if "enum" in reader:
            before = writer.get("enum")
            if before is None or any(v not in reader["enum"] for v in before):
                self._add("ENUM_ARRAY_NARROWED", f"{path}/enum")

    def _bounds(self, reader: Mapping[str, Any], writer: Mapping[str, Any], path: str) -> None:
        for names, sign in ((_LEAST, 1), (_MOST, -1)):
            for name in names:
                bound, before = reader.get(name), writer.get(name)
                if not isinstance(bound, int | float):
                    continue
                if not isinstance(before, int | float) or sign * bound > sign * before:
                    self._add(f"{name.upper()}_NARROWED", f"{path}/{name}")
        if "pattern" in reader and reader["pattern"] != writer.get("pattern"):
            self._add("PATTERN_ADDED_OR_CHANGED", f"{path}/pattern")

    def _object(self, reader: Mapping[str, Any], writer: Mapping[str, Any], path: str) -> None:
        read, written = reader.get("properties", {}), writer.get("properties", {})
        for name in reader.get("required", ()):
            if name not in writer.get("required", ()) and "default" not in read.get(name, {}):
                self._add("REQUIRED_ATTRIBUTE_ADDED", f"{path}/required/{name}")
        others = reader.get("additionalProperties", True)
        for name, schema in written.items():
            place = f"{path}/properties/{name}"
            if name in read:
                self.compare(read[name], schema, place)
            elif others is False:
                self._add("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", place)
            elif others is not True:
                self.compare(others, schema, place)
        before = writer.get("additionalProperties", True)
        for name in read.keys() - written.keys():
            # The previous schema may have allowed anything.
            if before is True and read[name] not in (True, {}):
                self._add("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", f"{path}/properties/{name}")
            elif isinstance(before, dict):
                self.compare(read[name], before, f"{path}/properties/{name}")
        if others is False and before is not False:
            self._add("ADDITIONAL_PROPERTIES_REMOVED", f"{path}/additionalProperties")

    def _alternatives(
        self, reader: Mapping[str, Any], writer: Mapping[str, Any], path: str
    ) -> None:
        """Each former alternative must be allowed by a current one."""
        now = _alternatives(reader) or [reader]
        for number, schema in enumerate(_alternatives(writer) or [writer]):
            if not any(self._allows(candidate, schema) for candidate in now):
                self._add("COMBINED_TYPE_SUBSCHEMAS_CHANGED", f"{path}/{number}")

    def _allows(self, reader: Any, writer: Any) -> bool:
        check = _Check(*self._roots, frozenset(self._seen))
        check.compare(reader, writer, "")
        return not check.found

    def _add(self, kind: str, path: str) -> None:
        self.found.append(f"{kind} at {path}")


def _types(schema: Mapping[str, Any]) -> frozenset[str]:
    given = schema.get("type")
    return frozenset([given] if isinstance(given, str) else given or ())


def _alternatives(schema: Any) -> list[Any] | None:
    if not isinstance(schema, dict):
        return None
    found = schema.get("oneOf", schema.get("anyOf"))
    return list(found) if found is not None else None


def _resolve(schema: Any, root: Any) -> Any:
    """Resolves a reference inside of the document."""
    while isinstance(schema, dict) and str(schema.get("$ref", "")).startswith("#"):
        found = root
        for step in schema["$ref"].strip("#/").split("/") if schema["$ref"] != "#" else ():
            found = found.get(step.replace("~1", "/").replace("~0", "~"), True)
        if found is schema:
            return True
        schema = found
    return schema
