"""Avro's rules of schema resolution: can a reader's schema read what a writer's has written?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamsql.registry.avro_names import AvroField, AvroType, resolved

_PROMOTIONS = {
    ("int", "long"),
    ("int", "float"),
    ("int", "double"),
    ("long", "float"),
    ("long", "double"),
    ("float", "double"),
    ("string", "bytes"),
    ("bytes", "string"),
}
"""Writer's type, reader's type."""


def avro_problems(
    reader: Any, writer: Any, reader_references: Sequence[Any], writer_references: Sequence[Any]
) -> list[str]:
    """Incompatibilities of the reader, each with its path; empty if it can read everything."""
    check = _Check()
    check.compare(resolved(reader, reader_references), resolved(writer, writer_references), "")
    return check.found


class _Check:
    def __init__(self, seen: frozenset[tuple[int, int]] = frozenset()) -> None:
        """`seen` are pairs that are being compared already: a record may contain itself."""
        self.found: list[str] = []
        self._seen = set(seen)

    def compare(self, reader: AvroType, writer: AvroType, path: str) -> None:
        if (id(reader), id(writer)) in self._seen:
            return
        self._seen.add((id(reader), id(writer)))
        if writer.kind == "union":
            for branch in writer.members:
                self.compare(reader, branch, path)
        elif reader.kind == "union":
            if not any(self._can_read(branch, writer) for branch in reader.members):
                self._add("MISSING_UNION_BRANCH", path, f"the union lacks {_describe(writer)}")
        elif reader.kind != writer.kind:
            if (writer.kind, reader.kind) not in _PROMOTIONS:
                self._add(
                    "TYPE_MISMATCH",
                    path,
                    f"reader type {_describe(reader)} cannot read {_describe(writer)}",
                )
        else:
            self._same_kind(reader, writer, path)

    def _same_kind(self, reader: AvroType, writer: AvroType, path: str) -> None:
        if reader.kind in ("record", "enum", "fixed") and _short(reader) != _short(writer):
            self._add("NAME_MISMATCH", path, f"expected {writer.name}, found {reader.name}")
        match reader.kind:
            case "record":
                self._record(reader, writer, path)
            case "enum":
                lost = [s for s in writer.symbols if s not in reader.symbols]
                if lost and not reader.has_default:
                    self._add("MISSING_ENUM_SYMBOLS", path, f"the enum lacks {', '.join(lost)}")
            case "fixed":
                if reader.size != writer.size:
                    self._add("FIXED_SIZE_MISMATCH", path, f"{reader.size} is not {writer.size}")
            case "array" | "map":
                step = "items" if reader.kind == "array" else "values"
                self.compare(reader.members[0], writer.members[0], f"{path}/{step}")
        both = reader.logical and writer.logical
        if both and reader.logical != writer.logical:
            self._add("TYPE_MISMATCH", path, "the decimals differ in precision or scale")

    def _record(self, reader: AvroType, writer: AvroType, path: str) -> None:
        written = {f.name: f for f in writer.fields}
        for field in reader.fields:
            place = f"{path}/fields/{field.name}"
            source = _written(field, written)
            if source is not None:
                self.compare(field.type, source.type, place)
            elif not field.has_default:
                self._add(
                    "READER_FIELD_MISSING_DEFAULT_VALUE",
                    place,
                    f"the field {field.name} has no default and was not written",
                )

    def _can_read(self, reader: AvroType, writer: AvroType) -> bool:
        check = _Check(frozenset(self._seen))
        check.compare(reader, writer, "")
        return not check.found

    def _add(self, kind: str, path: str, message: str) -> None:
        self.found.append(f"{kind} at {path or '/'}: {message}")


def _written(field: AvroField, written: dict[str, AvroField]) -> AvroField | None:
    return next((written[n] for n in (field.name, *field.aliases) if n in written), None)


def _short(t: AvroType) -> str:
    """Only the last part of a name counts."""
    return t.name.rpartition(".")[2]


def _describe(t: AvroType) -> str:
    return t.name or t.kind
