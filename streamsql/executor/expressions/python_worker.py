"""Code for Spark's Python workers: user functions over batches of Arrow arrays. It is sent to the
workers by value, so they do not need streamsql."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle

cloudpickle.register_pickle_by_value(sys.modules[__name__])

UserCode = Callable[..., Any]
Outcome = tuple[Any, bool]
"""A value, and whether the function failed."""


def batches(
    parameters: tuple[str, ...], code: str, kind: Any, grouped: bool = False
) -> Callable[..., Any]:
    """Maps Arrow arrays of the arguments to a struct array: the value, and whether it failed. A
    null argument gives null without a call. A function whose first parameter is annotated as
    pyarrow's Array gets whole arrays and fails as a whole. `kind` is Spark's type. `grouped`: the
    only array holds a list of parameter structs per group. A call gets one list; rows with a null
    are excluded, and an empty list gives null without a call."""
    loaded: list[Any] = []

    def evaluate(*arrays: Any) -> Any:
        from pyspark.sql.pandas.types import to_arrow_type

        if not loaded:
            loaded.extend([_load(parameters, code), to_arrow_type(kind)])
        function, target = loaded
        if grouped:
            calls = _groups(arrays[0], len(parameters), whole=_wants_arrays(function))
        elif _wants_arrays(function):
            return _structs(*_at_once(function, arrays if parameters else (), arrays[0], target))
        else:
            calls = _rows(arrays, len(parameters))
        outcomes = [_one(function, values, target) for values in calls]
        values = pa.array([value for value, _ in outcomes], type=target)
        return _structs(values, pa.array([bad for _, bad in outcomes], type=pa.bool_()))

    # Spark finds out by the annotations of each parameter what the function takes.
    count = 1 if grouped else max(1, len(parameters))
    names = [f"a{number}" for number in range(count)]
    evaluate.__annotations__ = dict.fromkeys([*names, "return"], pa.Array)
    kind_of = inspect.Parameter.POSITIONAL_ONLY
    evaluate.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind_of, annotation=pa.Array) for name in names],
        return_annotation=pa.Array,
    )
    return evaluate


def _load(parameters: tuple[str, ...], code: str) -> UserCode:
    """The function that the text is, defines last, or names."""
    text = code.strip()
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text):
        module, _, name = text.partition(":")
        named: UserCode = getattr(importlib.import_module(module), name)
        return named
    tree = ast.parse(text)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    scope: dict[str, Any] = {}
    if names:
        exec(compile(tree, "<function>", "exec"), scope)
        defined: UserCode = scope[names[-1]]
        return defined
    made: UserCode = eval(f"lambda {', '.join(parameters)}: ({text}\n)", scope)
    return made


def _wants_arrays(function: UserCode) -> bool:
    annotations = list(getattr(function, "__annotations__", {}).values())
    return bool(annotations) and str(annotations[0]).rpartition(".")[2].startswith("Array")


# -- the arguments of the calls -------------------------------------------------------------------


def _rows(arrays: Sequence[Any], parameters: int) -> Iterator[tuple[Any, ...]]:
    """The arguments of each row; without parameters the only array says how many there are."""
    if not parameters:
        yield from [()] * len(arrays[0])
    else:
        yield from zip(*(array.to_pylist() for array in arrays), strict=True)


def _groups(lists: Any, parameters: int, *, whole: bool) -> Iterator[tuple[Any, ...]]:
    """The arguments of each group: lists, or arrays if `whole`; nulls of a group without values."""
    for rows in (group.values for group in lists):
        if rows is None:
            yield (None,)
            continue
        columns = [rows.field(i) for i in range(parameters)]
        present = pa.array([True] * len(rows), type=pa.bool_())
        for column in columns:
            present = pc.and_(present, column.is_valid())
        columns = [column.filter(present) for column in columns]
        if not len(columns[0]):
            yield (None,)
        else:
            yield tuple(columns if whole else [column.to_pylist() for column in columns])


# -- the calls ------------------------------------------------------------------------------------


def _one(function: UserCode, values: tuple[Any, ...], target: Any) -> Outcome:
    if any(value is None for value in values):
        return None, False
    try:
        value = function(*values)
        value = value.as_py() if isinstance(value, pa.Scalar) else value
        return pa.scalar(value, type=target).as_py(), False
    except Exception:
        return None, True


def _at_once(function: UserCode, arrays: Sequence[Any], like: Any, target: Any) -> tuple[Any, Any]:
    """Of a call with whole arrays: the values, and which have failed; as many as `like` has."""
    try:
        value = function(*arrays)
        made = value if isinstance(value, pa.Array) else pa.array(value, type=target)
        return made.cast(target), pa.array([False] * len(like))
    except Exception:
        return pa.nulls(len(like), target), pa.array([True] * len(like))


def _structs(values: Any, failed: Any) -> Any:
    return pa.StructArray.from_arrays([values, failed], names=["value", "failed"])
