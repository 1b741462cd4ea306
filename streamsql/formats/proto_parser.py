"""Parses .proto text to a FileDescriptorProto: proto2, proto3 and edition 2023, without services.
Type names are unresolved until the file is linked. Irrelevant options (services, extensions, most
options) are skipped.

protoc is no replacement: it rejects a text whose imports and definitions of options are not given,
as in the requests of a registry, and Square's wire-schema needs a JVM."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from google.protobuf.descriptor_pb2 import (
    EDITION_2023,
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from streamsql.errors import ConfigError
from streamsql.formats.proto_literals import integer, text_of
from streamsql.formats.proto_options import FEATURES, set_feature, set_option

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|(?P<token>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
    r"""|[A-Za-z_][A-Za-z0-9_]*|\.?[0-9][0-9A-Za-z.+-]*|[-{}\[\]()<>=;,.:])""",
    re.DOTALL,
)

_F = FieldDescriptorProto
SCALARS: dict[str, _F.Type.ValueType] = {
    "double": _F.TYPE_DOUBLE,
    "float": _F.TYPE_FLOAT,
    "int64": _F.TYPE_INT64,
    "uint64": _F.TYPE_UINT64,
    "int32": _F.TYPE_INT32,
    "fixed64": _F.TYPE_FIXED64,
    "fixed32": _F.TYPE_FIXED32,
    "bool": _F.TYPE_BOOL,
    "string": _F.TYPE_STRING,
    "bytes": _F.TYPE_BYTES,
    "uint32": _F.TYPE_UINT32,
    "sfixed32": _F.TYPE_SFIXED32,
    "sfixed64": _F.TYPE_SFIXED64,
    "sint32": _F.TYPE_SINT32,
    "sint64": _F.TYPE_SINT64,
}
_LABELS = {
    "optional": _F.LABEL_OPTIONAL,
    "required": _F.LABEL_REQUIRED,
    "repeated": _F.LABEL_REPEATED,
}


def parse_proto(text: str, name: str = "schema.proto") -> FileDescriptorProto:
    """Parses a file; ConfigError names the unexpected token."""
    return _Parser(text, name).file()


class _Parser:
    def __init__(self, text: str, name: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._file = FileDescriptorProto(name=name)

    # -- tokens ----------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise ConfigError("invalid Protobuf schema: unexpected end")
        self._at += 1
        return token

    def _take(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._at += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._take(token):
            self._fail(f"expected '{token}'")

    def _fail(self, why: str) -> NoReturn:
        raise ConfigError(f"invalid Protobuf schema: {why}, found '{self._peek() or 'the end'}'")

    def _name(self) -> str:
        token = self._next()
        if not re.fullmatch(r"[A-Za-z_]\w*", token):
            self._at -= 1
            self._fail("expected a name")
        return token

    def _dotted(self) -> str:
        name = "." if self._take(".") else ""
        name += self._name()
        while self._take("."):
            name += "." + self._name()
        return name

    def _integer(self) -> int:
        sign = -1 if self._take("-") else 1
        token = self._next()
        try:
            return sign * integer(token)
        except ValueError:
            self._at -= 1
            self._fail("expected a number")

    def _text(self) -> str:
        token = self._next()
        if token[0] not in "\"'":
            self._at -= 1
            self._fail("expected a text")
        parts = [token]
        while self._peek()[:1] in ("'", '"'):
            parts.append(self._next())
        try:
            return text_of(parts).decode()
        except ValueError as error:
            self._fail(f"{' '.join(parts)}: {error}")

    def _skip_statement(self) -> None:
        """Skips to the `;`, or over the next block."""
        while not self._take(";"):
            if self._next() == "{":
                self._skip_block()
                self._take(";")
                return

    def _skip_block(self) -> None:
        depth = 1
        while depth:
            token = self._next()
            depth += (token == "{") - (token == "}")

    # -- the file --------------------------------------------------------------------------------

    def file(self) -> FileDescriptorProto:
        statements: dict[str, Callable[[], None]] = {
            "syntax": self._syntax,
            "edition": self._edition,
            "option": self._file_option,
            "package": self._package,
            "import": self._import,
            "message": lambda: self._message(self._file.message_type.add()),
            "enum": lambda: self._enum(self._file.enum_type.add()),
        }
        while self._peek():
            if self._take(";"):
                continue
            word = self._peek()
            if word in statements:
                self._next()
                statements[word]()
            elif word in ("service", "extend"):
                self._skip_statement()
            else:
                self._fail("expected a message")
        return self._file

    def _syntax(self) -> None:
        self._expect("=")
        syntax = self._text()
        if syntax not in ("proto2", "proto3"):
            raise ConfigError(f"invalid Protobuf schema: unknown syntax {syntax}")
        if syntax == "proto3":
            self._file.syntax = syntax
        self._expect(";")

    def _edition(self) -> None:
        self._expect("=")
        edition = self._text()
        if edition != "2023":
            raise ConfigError(f"invalid Protobuf schema: unknown edition {edition}")
        self._file.syntax, self._file.edition = "editions", EDITION_2023
        self._expect(";")

    def _file_option(self) -> None:
        name = self._option_name()
        if name.startswith(FEATURES):
            self._expect("=")
            value = self._next()
            try:
                set_feature(self._file.options.features, name, value)
            except ValueError:
                self._fail(f"{value} is not a {name}")
        self._skip_statement()

    def _package(self) -> None:
        self._file.package = self._dotted()
        self._expect(";")

    def _import(self) -> None:
        if self._take("public"):
            self._file.public_dependency.append(len(self._file.dependency))
        elif self._take("weak"):
            self._file.weak_dependency.append(len(self._file.dependency))
        self._file.dependency.append(self._text())
        self._expect(";")

    # -- messages --------------------------------------------------------------------------------

    def _message(self, message: DescriptorProto) -> None:
        message.name = self._name()
        self._expect("{")
        self._body(message)
        self._number_presence(message)

    def _body(self, message: DescriptorProto) -> None:
        while not self._take("}"):
            word, after = self._peek(), self._peek(1)
            if self._take(";"):
                continue
            if word == "message" and self._peek(2) == "{":
                self._next()
                self._message(message.nested_type.add())
            elif word == "enum" and self._peek(2) == "{":
                self._next()
                self._enum(message.enum_type.add())
            elif word == "oneof" and self._peek(2) == "{":
                self._oneof(message)
            elif word == "map" and after == "<":
                self._map(message)
            elif (
                word == "reserved"
                and (after[:1] in "\"'" or after[:1].isdigit())
                or word in ("option", "extensions", "extend")
                and after not in ("=", ".")
            ):
                self._skip_statement()
            else:
                self._field(message)

    def _field(self, message: DescriptorProto, oneof: int | None = None) -> None:
        field = message.field.add()
        label = self._peek()
        if oneof is None and label in _LABELS and self._peek(1) != "=":
            self._next()
            field.label = _LABELS[label]
            field.proto3_optional = label == "optional" and self._file.syntax == "proto3"
        else:
            field.label = _F.LABEL_OPTIONAL
        self._type(field)
        field.name = self._name()
        if oneof is not None:
            field.oneof_index = oneof
        self._number(field)

    def _type(self, field: FieldDescriptorProto) -> None:
        name = self._dotted()
        if name == "group":
            self._fail("groups are not supported")
        if name in SCALARS:
            field.type = SCALARS[name]
        else:
            field.type_name = name

    def _number(self, field: FieldDescriptorProto) -> None:
        self._expect("=")
        field.number = self._integer()
        if self._take("["):
            self._options(field)
        self._expect(";")

    def _oneof(self, message: DescriptorProto) -> None:
        self._next()
        index = len(message.oneof_decl)
        message.oneof_decl.add().name = self._name()
        self._expect("{")
        while not self._take("}"):
            if self._take(";"):
                continue
            if self._peek() == "option":
                self._skip_statement()
            else:
                self._field(message, index)

    def _map(self, message: DescriptorProto) -> None:
        self._next()
        self._expect("<")
        entry = message.nested_type.add()
        entry.options.map_entry = True
        for number, part in enumerate(("key", "value"), 1):
            inner = entry.field.add(name=part, number=number, label=_F.LABEL_OPTIONAL)
            self._type(inner)
            self._expect(">" if part == "value" else ",")
        field = message.field.add(label=_F.LABEL_REPEATED, name=self._name())
        words = re.split(r"_", field.name)
        entry.name = "".join(w[:1].upper() + w[1:] for w in words) + "Entry"
        field.type, field.type_name = _F.TYPE_MESSAGE, entry.name
        self._number(field)

    def _number_presence(self, message: DescriptorProto) -> None:
        """An `optional` field of proto3 has its own oneof, after all others."""
        taken = {field.name for field in message.field} | {o.name for o in message.oneof_decl}
        for field in message.field:
            if field.proto3_optional:
                name = field.name if field.name.startswith("_") else "_" + field.name
                while name in taken:
                    name = "X" + name
                taken.add(name)
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add().name = name

    def _enum(self, enum: EnumDescriptorProto) -> None:
        enum.name = self._name()
        self._expect("{")
        while not self._take("}"):
            if self._take(";"):
                continue
            if self._peek() in ("option", "reserved") and self._peek(1) != "=":
                if self._peek() == "option" and "allow_alias" in self._peek(1):
                    enum.options.allow_alias = True
                self._skip_statement()
                continue
            value = enum.value.add(name=self._name())
            self._expect("=")
            value.number = self._integer()
            if self._take("["):
                self._options(None)
            self._expect(";")

    # -- options ---------------------------------------------------------------------------------

    def _options(self, field: FieldDescriptorProto | None) -> None:
        while True:
            name = self._option_name()
            self._expect("=")
            value = self._option_value()
            if field is not None:
                self._set_option(field, name, value)
            if self._take("]"):
                return
            self._expect(",")

    def _option_name(self) -> str:
        name = ""
        while self._peek() not in ("=", ""):
            token = self._next()
            name += token if token not in "()" else ""
        return name

    def _option_value(self) -> list[str]:
        tokens: list[str] = []
        depth = 0
        while depth or self._peek() not in (",", "]"):
            token = self._next()
            depth += (token in "{[") - (token in "}]")
            tokens.append(token)
        return tokens

    def _set_option(self, field: FieldDescriptorProto, name: str, value: list[str]) -> None:
        try:
            set_option(field, name, value)
        except ValueError:
            self._fail(f"{' '.join(value)} is not a {name} of {field.name}")


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            line = text.count("\n", 0, at) + 1
            raise ConfigError(f"invalid Protobuf schema: line {line}: unexpected '{text[at]}'")
        if match["token"]:
            tokens.append(match["token"])
        at = match.end()
    return tokens
