"""Functions of standard SQL that a template makes of Spark's: what they take and give.

A template is an expression over `v.a`, `v.b` .., the arguments in their order; null where one of
them is. A name alone is a function of Spark's, or one of io.streamsql.expressions'
StandardFunctions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from streamsql import types
from streamsql.nodes import Expression
from streamsql.planner.relational.expressions import typed
from streamsql.planner.relational.intervals import computed, computed_of, of_template, written
from streamsql.planner.relational.typing import is_open
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    JSONB,
    LOCAL_TIMESTAMP,
    NUMERIC,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
)

_TEXTS = types.array(STRING)
_ENTRIES = types.array(types.row([("KEY", STRING), ("VALUE", JSONB)]))
_ENTRY_TEXTS = types.array(types.row([("KEY", STRING), ("VALUE", STRING)]))
_LETTERS = "abcdefg"
_CALL = re.compile(r"(?!.*v\.\w\.)(GET\()?SQL_\w+\([^()]*\)(, 0\))?")
"""Of one function of StandardFunctions, which is null for a null."""


@dataclass(frozen=True)
class Signature:
    """What a call takes and gives, and the template of it."""

    gives: SQLType
    takes: tuple[SQLType, ...]
    template: str
    nullable: str = ""
    """Arguments of a template that may be null."""

    def call(self, arguments: list[Expression]) -> Expression:
        if "v." in self.template:
            named = dict(zip(_LETTERS, arguments, strict=False))
            if _CALL.fullmatch(self.template) and not self.nullable:
                return of_template(self.template, self.gives, named)
            return computed_of(self.template, self.gives, named, self.nullable)
        copies = [argument.copy() for argument in arguments]
        return typed(exp.Anonymous(this=self.template, expressions=copies), self.gives)


def _hash(bits: int) -> Signature:
    return Signature(BYTES, (BYTES,), f"UNHEX(SHA2(v.a, {bits}))")


_JSON_OBJECT = (
    "SQL_JSONB(CONCAT('{{', ARRAY_JOIN(ZIP_WITH({n}, {v}, (k, x) -> CONCAT(TO_JSON(CAST(k AS "
    "VARIANT)), ':', COALESCE(TO_JSON(CAST(x AS VARIANT)), 'null'))), ','), '}}'))"
)
_ENTRY_TEMPLATE = (
    "TRANSFORM(SQL_JSONB_ENTRIES(v.a), "
    "x -> NAMED_STRUCT('KEY', x.key, 'VALUE', SQL_JSONB_TEXT_AT(x.value, '$')))"
)
_SERIES = "IF((v.b - v.a) * SIGN(v.c) < 0 OR v.c = 0, ARRAY(), SEQUENCE(v.a, v.b, v.c))"
_ENCODED = (
    "CASE v.b WHEN 'hex' THEN LOWER(HEX(v.a)) WHEN 'base64' THEN BASE64(v.a) "
    "WHEN 'escape' THEN CAST(v.a AS STRING) END"
)
_DECODED = (
    "CASE v.b WHEN 'hex' THEN UNHEX(v.a) WHEN 'base64' THEN UNBASE64(v.a) "
    "WHEN 'escape' THEN CAST(v.a AS BINARY) END"
)
_QUOTED = (
    "CONCAT(IF(CONTAINS(v.a, '\\\\'), 'E\\'', '\\''), "
    "REPLACE(REPLACE(v.a, '\\\\', '\\\\\\\\'), '\\'', '\\'\\''), '\\'')"
)
_SPLIT = "SPLIT(v.a, CONCAT('\\\\Q', v.b, '\\\\E'), -1)"
_PARTS = (
    "IF(v.a = '', CAST(ARRAY() AS ARRAY<STRING>), IF(v.b IS NULL, SPLIT(v.a, ''), "
    f"IF(v.b = '', ARRAY(v.a), {_SPLIT})))"
)

_CHARSET = (
    "CASE WHEN UPPER(v.b) IN ('UTF8', 'UTF-8', 'UNICODE') THEN 'UTF-8' "
    "WHEN UPPER(v.b) IN ('LATIN1', 'ISO-8859-1', 'ISO88591') THEN 'ISO-8859-1' "
    "WHEN UPPER(v.b) IN ('SQL_ASCII', 'US-ASCII') THEN 'US-ASCII' ELSE v.b END"
)
_CAPITALS = (
    "AGGREGATE(SPLIT(LOWER(v.a), ''), '', (s, c) -> "
    "CONCAT(s, IF(s RLIKE '[\\\\p{L}\\\\p{N}]$', c, UPPER(c))))"
)


def _of_integers(function: str) -> tuple[Signature, ...]:
    return (
        Signature(INT, (INT, INT), f"CAST({function}(v.a, v.b) AS INT)"),
        Signature(BIGINT, (BIGINT, BIGINT), function),
    )


def _justified(of: str) -> tuple[Signature, ...]:
    template = f"SQL_JUSTIFIED(v.a.months, v.a.days, v.a.micros, {of})"
    return (Signature(INTERVAL, (INTERVAL,), template),)


def _made_interval(count: int) -> Signature:
    """MAKE_INTERVAL of the first arguments: years, months, weeks, days, hours, minutes, seconds."""
    kinds = (INT, INT, INT, INT, INT, INT, DOUBLE)[:count]
    y, mo, w, d, h, mi, s = (f"v.{x}" if n < count else "0" for n, x in enumerate(_LETTERS))
    return Signature(
        INTERVAL,
        kinds,
        written(
            f"{y} * 12 + {mo}",
            f"{w} * 7 + {d}",
            f"({h} * CAST(3600 AS BIGINT) + {mi} * 60) * 1000000 + RINT({s} * 1000000)",
        ),
    )


_BYTE_OF = "(', REGEXP_REPLACE(HEX(v.b), '(..)(?=.)', '$1|'), ')"


def _trimmed(pattern: str) -> Signature:
    template = f"UNHEX(REGEXP_REPLACE(HEX(v.a), CONCAT({pattern}), ''))"
    return Signature(BYTES, (BYTES, BYTES), template)


_FROM = ((INT, "1"), (INT, "1"))
"""The place where a search begins, and the number of the match."""


def _of_pattern(gives: SQLType, template: str, *more: tuple[SQLType, str]) -> tuple[Signature, ...]:
    """A function of a text, a pattern, and other arguments with what they are where they are not
    given; an empty text: they have to be given."""
    least = sum(not default for _, default in more)
    found = []
    for given in range(least, len(more) + 1):
        takes = (STRING, STRING, *(kind for kind, _ in more[:given]))
        values = [f"v.{letter}" for letter in _LETTERS[: len(takes)]]
        values += [default for _, default in more[given:]]
        found.append(Signature(gives, takes, template.format(", ".join(values))))
    return tuple(found)


SIGNATURES: dict[str, tuple[Signature, ...]] = {
    "LEFT": (
        Signature(
            STRING, (STRING, INT), "LEFT(v.a, IF(v.b < 0, GREATEST(LENGTH(v.a) + v.b, 0), v.b))"
        ),
    ),
    "RIGHT": (
        Signature(
            STRING, (STRING, INT), "RIGHT(v.a, IF(v.b < 0, GREATEST(LENGTH(v.a) + v.b, 0), v.b))"
        ),
    ),
    "QUOTE_IDENT": (
        Signature(
            STRING,
            (STRING,),
            "IF(v.a RLIKE '^[a-z_][a-z0-9_]*$', v.a, "
            "CONCAT('\"', REPLACE(v.a, '\"', '\"\"'), '\"'))",
        ),
    ),
    "QUOTE_NULLABLE": (Signature(STRING, (STRING,), f"IF(v.a IS NULL, 'NULL', {_QUOTED})", "a"),),
    "QUOTE_LITERAL": (Signature(STRING, (STRING,), _QUOTED),),
    "STRING_TO_ARRAY": (
        Signature(_TEXTS, (STRING, STRING), _PARTS, "b"),
        Signature(
            _TEXTS,
            (STRING, STRING, STRING),
            f"TRANSFORM({_PARTS}, part -> IF(part = v.c, NULL, part))",
            "bc",
        ),
    ),
    "REGEXP_SPLIT_TO_ARRAY": (
        Signature(_TEXTS, (STRING, STRING), "SPLIT(v.a, v.b, -1)"),
        Signature(
            _TEXTS,
            (STRING, STRING, STRING),
            "SPLIT(v.a, IF(CONTAINS(v.c, 'i'), CONCAT('(?i)', v.b), v.b), -1)",
        ),
    ),
    "REGEXP_MATCH": _of_pattern(_TEXTS, "GET(SQL_MATCH_GROUPS({}), 0)", (STRING, "''")),
    "REGEXP_MATCH_ROWS": _of_pattern(types.array(_TEXTS), "SQL_MATCH_GROUPS({})", (STRING, "''")),
    "REGEXP_COUNT": _of_pattern(INT, "SQL_MATCH_COUNT({})", (INT, "1"), (STRING, "''")),
    "REGEXP_INSTR": _of_pattern(
        INT, "SQL_MATCH_PLACE({})", *_FROM, (INT, "0"), (STRING, "''"), (INT, "0")
    ),
    "REGEXP_SUBSTR": _of_pattern(STRING, "SQL_MATCH_PART({})", *_FROM, (STRING, "''"), (INT, "0")),
    "REGEXP_REPLACE": (
        Signature(
            STRING, (STRING, STRING, STRING, STRING), "SQL_MATCH_REPLACED(v.a, v.b, v.c, 1, 1, v.d)"
        ),
        *_of_pattern(STRING, "SQL_MATCH_REPLACED({})", (STRING, ""), *_FROM, (STRING, "''")),
    ),
    "ENCODE": (Signature(STRING, (BYTES, STRING), _ENCODED),),
    "DECODE": (Signature(BYTES, (STRING, STRING), _DECODED),),
    "TO_HEX": (
        Signature(STRING, (INT,), "LOWER(HEX(v.a & 4294967295))"),
        Signature(STRING, (BIGINT,), "LOWER(HEX(v.a))"),
    ),
    "GCD": _of_integers("SQL_GCD"),
    "LCM": _of_integers("SQL_LCM"),
    "FACTORIAL": (Signature(types.decimal(types.MAX_PRECISION, 0), (BIGINT,), "SQL_FACTORIAL"),),
    "MIN_SCALE": (
        Signature(
            INT,
            (NUMERIC,),
            "LENGTH(REGEXP_REPLACE(CAST(v.a AS STRING), '^[^.]*[.]|0+$', ''))",
        ),
    ),
    "TRIM_SCALE": (Signature(NUMERIC, (NUMERIC,), "CAST(v.a AS DECIMAL(38, 16))"),),
    "AGE": (
        Signature(INTERVAL, (LOCAL_TIMESTAMP,) * 2, "SQL_AGE(UNIX_MICROS(v.a), UNIX_MICROS(v.b))"),
    ),
    "JUSTIFY_HOURS": _justified("TRUE, FALSE"),
    "JUSTIFY_DAYS": _justified("FALSE, TRUE"),
    "JUSTIFY_INTERVAL": _justified("TRUE, TRUE"),
    "MAKE_INTERVAL": tuple(_made_interval(count) for count in range(8)),
    "ISFINITE": (
        Signature(BOOLEAN, (INTERVAL,), "v.a IS NOT NULL"),
        Signature(BOOLEAN, (LOCAL_TIMESTAMP,), "v.a IS NOT NULL"),
    ),
    "CONVERT_FROM": (Signature(STRING, (BYTES, STRING), f"DECODE(v.a, {_CHARSET})"),),
    "CONVERT_TO": (Signature(BYTES, (STRING, STRING), f"ENCODE(v.a, {_CHARSET})"),),
    "TEXTCAT": (Signature(STRING, (STRING, STRING), "CONCAT(v.a, v.b)"),),
    "TEXTLEN": (Signature(INT, (STRING,), "LENGTH(v.a)"),),
    "TEXT_STARTS_WITH": (Signature(BOOLEAN, (STRING, STRING), "STARTSWITH(v.a, v.b)"),),
    "INITCAP": (Signature(STRING, (STRING,), _CAPITALS),),
    "MAKE_TIME": (
        Signature(
            TIME,
            (INT, INT, DOUBLE),
            "(v.a * 60 + v.b) * CAST(60000 AS BIGINT) + CAST(RINT(v.c * 1000) AS BIGINT)",
        ),
    ),
    "DIV": (
        Signature(
            types.decimal(types.MAX_PRECISION, 0),
            (NUMERIC, NUMERIC),
            "CAST(v.a DIV v.b AS DECIMAL(38, 0))",
        ),
    ),
    "LOG": (Signature(DOUBLE, (DOUBLE,), "LOG10"),),
    "LOG10": (Signature(DOUBLE, (DOUBLE,), "LOG10"),),
    "SHA224": (_hash(224),),
    "SHA256": (_hash(256),),
    "SHA384": (_hash(384),),
    "SHA512": (_hash(512),),
    "SHA1": (Signature(BYTES, (BYTES,), "UNHEX(SHA1(v.a))"),),
    "TO_TIMESTAMP": (
        Signature(TIMESTAMP, (DOUBLE,), "TIMESTAMP_MICROS(CAST(RINT(v.a * 1000000) AS BIGINT))"),
    ),
    "JSONB_PRETTY": (Signature(STRING, (JSONB,), "SQL_JSONB_PRETTY"),),
    "JSONB_STRIP_NULLS": (Signature(JSONB, (JSONB,), "SQL_JSONB_STRIP_NULLS"),),
    "JSONB_SET": (
        Signature(JSONB, (JSONB, _TEXTS, JSONB), "SQL_JSONB_SET(v.a, v.b, v.c, TRUE)"),
        Signature(JSONB, (JSONB, _TEXTS, JSONB, BOOLEAN), "SQL_JSONB_SET"),
    ),
    "JSONB_OBJECT": (
        Signature(
            JSONB,
            (_TEXTS,),
            _JSON_OBJECT.format(
                n="FILTER(v.a, (x, i) -> i % 2 = 0)", v="FILTER(v.a, (x, i) -> i % 2 = 1)"
            ),
        ),
        Signature(JSONB, (_TEXTS, _TEXTS), _JSON_OBJECT.format(n="v.a", v="v.b")),
    ),
    "JSONB_INSERT": (
        Signature(JSONB, (JSONB, _TEXTS, JSONB), "SQL_JSONB_INSERT(v.a, v.b, v.c, FALSE)"),
        Signature(JSONB, (JSONB, _TEXTS, JSONB, BOOLEAN), "SQL_JSONB_INSERT"),
    ),
    "JSONB_AT": (Signature(JSONB, (JSONB, STRING), "SQL_JSONB_ELEMENT"),),
    "JSONB_CONTAINS": (Signature(BOOLEAN, (JSONB, JSONB), "SQL_JSONB_CONTAINS"),),
    "JSONB_EXISTS": (Signature(BOOLEAN, (JSONB, STRING), "SQL_JSONB_EXISTS"),),
    "JSONB_EXISTS_ANY": (
        Signature(BOOLEAN, (JSONB, _TEXTS), "EXISTS(v.b, k -> SQL_JSONB_EXISTS(v.a, k))"),
    ),
    "JSONB_EXISTS_ALL": (
        Signature(BOOLEAN, (JSONB, _TEXTS), "FORALL(v.b, k -> SQL_JSONB_EXISTS(v.a, k))"),
    ),
    "JSONB_CONCAT": (Signature(JSONB, (JSONB, JSONB), "SQL_JSONB_CONCAT"),),
    "JSONB_DELETE_PATH": (Signature(JSONB, (JSONB, _TEXTS), "SQL_JSONB_SET(v.a, v.b, '', FALSE)"),),
    "INTEGER_SERIES": (Signature(types.array(INT), (INT, INT, INT), _SERIES),),
    "BIGINT_SERIES": (Signature(types.array(BIGINT), (BIGINT, BIGINT, BIGINT), _SERIES),),
    "JSON_ARRAY_ELEMENTS": (Signature(types.array(JSONB), (JSONB,), "SQL_JSONB_ELEMENTS"),),
    "JSON_ARRAY_ELEMENTS_TEXT": (
        Signature(
            _TEXTS, (JSONB,), "TRANSFORM(SQL_JSONB_ELEMENTS(v.a), x -> SQL_JSONB_TEXT_AT(x, '$'))"
        ),
    ),
    "JSON_EACH": (Signature(_ENTRIES, (JSONB,), "SQL_JSONB_ENTRIES"),),
    "JSON_EACH_TEXT": (Signature(_ENTRY_TEXTS, (JSONB,), _ENTRY_TEMPLATE),),
    "JSON_OBJECT_KEYS": (
        Signature(_TEXTS, (JSONB,), "TRANSFORM(SQL_JSONB_ENTRIES(v.a), x -> x.key)"),
    ),
}
"""By name, the narrowest types first."""

OF_BYTES: dict[str, Signature] = {
    "LENGTH": Signature(INT, (BYTES,), "OCTET_LENGTH(v.a)"),
    "MD5": Signature(STRING, (BYTES,), "MD5(v.a)"),
    **dict.fromkeys(
        ("STR_POSITION", "INSTR"),
        Signature(INT, (BYTES, BYTES), "(POSITION(HEX(v.b), HEX(v.a)) + 1) DIV 2"),
    ),
    "LTRIM": _trimmed(f"'^{_BYTE_OF}+'"),
    "RTRIM": _trimmed(f"'{_BYTE_OF}+$'"),
    "BTRIM": _trimmed(f"'^{_BYTE_OF}+|{_BYTE_OF}+$'"),
}
"""Of BYTES, where those of texts have the same names."""

OTHER_TYPES: dict[str, Signature] = {
    "JSONB_DELETE_TEXT": Signature(JSONB, (JSONB, STRING), "SQL_JSONB_DELETE"),
    "JSONB_DELETE_TEXTS": Signature(
        JSONB, (JSONB, _TEXTS), "AGGREGATE(v.b, v.a, (j, k) -> SQL_JSONB_DELETE(j, k))"
    ),
    "JSONB_DELETE_INDEX": Signature(
        JSONB, (JSONB, INT), "SQL_JSONB_SET(v.a, ARRAY(CAST(v.b AS STRING)), '', FALSE)"
    ),
}
"""Of `jsonb - key`."""
SIGNATURES |= {name: (signature,) for name, signature in OTHER_TYPES.items()}


_PLACES = "FILTER(TRANSFORM(v.a, (x, i) -> IF(x <=> v.b, i + 1, NULL)), p -> p IS NOT NULL)"
_DIMENSIONS = {"ARRAY_NDIMS": 1, "ARRAY_DIMS": 1, "ARRAY_LENGTH": 2}
"""Functions of the dimensions of an array, and how many arguments they take."""
_ARRAY = "array"
_ELEMENT = "element"


@dataclass(frozen=True)
class OfArray:
    """A function of an array, whose type those of its arguments and its result follow."""

    gives: SQLType | str
    takes: tuple[SQLType | str, ...]
    template: str
    nullable: str = ""


OF_ARRAYS: dict[str, tuple[OfArray, ...]] = {
    "ARRAY_POSITION": (
        OfArray(INT, (_ELEMENT,), f"GET({_PLACES}, 0)", "b"),
        OfArray(INT, (_ELEMENT, INT), f"GET(FILTER({_PLACES}, p -> p >= v.c), 0)", "b"),
    ),
    "ARRAY_POSITIONS": (OfArray(types.array(INT), (_ELEMENT,), _PLACES, "b"),),
    "ARRAY_REMOVE": (OfArray(_ARRAY, (_ELEMENT,), "FILTER(v.a, x -> NOT (x <=> v.b))", "b"),),
    "ARRAY_REPLACE": (
        OfArray(_ARRAY, (_ELEMENT, _ELEMENT), "TRANSFORM(v.a, x -> IF(x <=> v.b, v.c, x))", "bc"),
    ),
    "ARRAY_LOWER": (OfArray(INT, (INT,), "IF(SIZE(v.a) > 0 AND v.b = 1, 1, NULL)"),),
    "TRIM_ARRAY": (OfArray(_ARRAY, (INT,), "SLICE(v.a, 1, GREATEST(SIZE(v.a) - v.b, 0))"),),
}
"""By name, one for each number of arguments."""


def _dimensions(kind: SQLType) -> list[str]:
    """The sizes of an array of arrays, the outer one's first."""
    sizes, array = [], "v.a"
    while types.is_array(kind):
        sizes.append(f"SIZE({array})")
        array, kind = f"GET({array}, 0)", types.element_type(kind)
    return sizes


def _of_dimensions(name: str, kind: SQLType) -> Signature:
    sizes = _dimensions(kind)
    if name == "ARRAY_LENGTH":
        cases = " ".join(f"WHEN {n} THEN {size}" for n, size in enumerate(sizes, 1))
        return Signature(INT, (kind, INT), f"NULLIF(CASE v.b {cases} END, 0)")
    parts = [part for size in sizes for part in ("'[1:'", size, "']'")]
    shown = f"CONCAT({', '.join(parts)})"
    gives, value = (STRING, shown) if name == "ARRAY_DIMS" else (INT, str(len(sizes)))
    return Signature(gives, (kind,), f"IF(SIZE(v.a) > 0, {value}, NULL)")


def of_array(name: str, kinds: Sequence[SQLType]) -> Signature | None:
    """What a function is over arguments of these types; None of others."""
    if _DIMENSIONS.get(name) == len(kinds) and types.is_array(kinds[0]):
        return _of_dimensions(name, kinds[0])
    given = [one for one in OF_ARRAYS.get(name, ()) if len(one.takes) == len(kinds) - 1]
    if not given or not types.is_array(kinds[0]):
        return None

    def of(kind: SQLType | str) -> SQLType:
        if kind == _ELEMENT:
            return types.element_type(kinds[0])
        return kinds[0] if isinstance(kind, str) else kind

    one = given[0]
    takes = (kinds[0], *map(of, one.takes))
    return Signature(of(one.gives), takes, one.template, one.nullable)


def _fits(own: SQLType, kind: SQLType) -> bool:
    return own == kind or is_open(own) or (own == DATE and types.is_time(kind))


def signature(name: str, arguments: Sequence[Expression]) -> Signature | None:
    """What a function is with these arguments; None of functions without a template."""
    given = [one for one in SIGNATURES.get(name, ()) if len(one.takes) == len(arguments)]
    of_bytes = OF_BYTES.get(name)
    if of_bytes is not None and len(of_bytes.takes) == len(arguments):
        if arguments[0].type == BYTES:
            return of_bytes
    if len(given) > 1:
        kinds = [types.type_of(argument) for argument in arguments]
        given = [one for one in given if all(map(_fits, kinds, one.takes))] or given[-1:]
    if given or name not in (*OF_ARRAYS, *_DIMENSIONS):
        return given[0] if given else None
    return of_array(name, [types.type_of(argument) for argument in arguments])


_CONTAINED = "FORALL(v.b, x -> x IS NOT NULL AND COALESCE(ARRAY_CONTAINS(v.a, x), FALSE))"
_OVERLAP = "EXISTS(v.b, x -> x IS NOT NULL AND COALESCE(ARRAY_CONTAINS(v.a, x), FALSE))"


def contains(array: Expression, part: Expression) -> Expression:
    """`array @> part`."""
    return computed(_CONTAINED, BOOLEAN, a=array, b=part)


def overlap(one: Expression, two: Expression) -> Expression:
    return computed(_OVERLAP, BOOLEAN, a=one, b=two)
