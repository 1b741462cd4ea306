"""What runs in Spark's Python workers: a user's function over batches of Arrow arrays.

Everything here is sent to the workers by value, so that they need not have streamsql.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def batches(
    parameters: tuple[str, ...], code: str, kind: Any, grouped: bool = False
) -> Callable[..., Any]:
    """From Arrow arrays of the arguments to a struct array: the value, and whether it failed.

    A null argument gives null without a call. A function whose first parameter is annotated as
    pyarrow's Array gets whole arrays; it fails or succeeds as a whole. `kind` is Spark's type.

    `grouped`: the only array holds a list for each group, of structs of the parameters. A call is
    about a list; rows with a null are left out, and a list of no others gives null without a call.
    """

    def load() -> Callable[..., Any]:
        import ast
        import importlib
        import re

        text = code.strip()
        if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text):
            module, _, name = text.partition(":")
            function: Callable[..., Any] = getattr(importlib.import_module(module), name)
            return function
        tree = ast.parse(text)
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        scope: dict[str, Any] = {}
        if names:
            exec(compile(tree, "<function>", "exec"), scope)
            defined: Callable[..., Any] = scope[names[-1]]
            return defined
        made: Callable[..., Any] = eval(f"lambda {', '.join(parameters)}: ({text}\n)", scope)
        return made

    def whole_arrays(function: Callable[..., Any]) -> bool:
        annotations = list(getattr(function, "__annotations__", {}).values())
        return bool(annotations) and str(annotations[0]).rpartition(".")[2].startswith("Array")

    state: dict[str, Any] = {}

    def evaluate(*arrays: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyspark.sql.pandas.types import to_arrow_type

        target = to_arrow_type(kind)
        if "function" not in state:
            state["function"] = load()
        function = state["function"]
        columns = arrays if parameters else ()
        count = len(arrays[0])

        def one(values: tuple[Any, ...]) -> tuple[Any, bool]:
            if any(value is None for value in values):
                return None, False
            try:
                value = function(*values)
                value = value.as_py() if isinstance(value, pa.Scalar) else value
                return pa.scalar(value, type=target).as_py(), False
            except Exception:
                return None, True

        def group(values: Any) -> tuple[Any, ...]:
            if values is None:
                return (None,)
            columns = [values.field(i) for i in range(len(parameters))]
            present = pa.array([True] * len(values), type=pa.bool_())
            for column in columns:
                present = pc.and_(present, column.is_valid())
            columns = [column.filter(present) for column in columns]
            if not len(columns[0]):
                return (None,)
            return tuple(columns if whole else [column.to_pylist() for column in columns])

        whole = whole_arrays(function)
        if whole and not grouped:
            try:
                value = function(*columns)
                made = value if isinstance(value, pa.Array) else pa.array(value, type=target)
                made = made.cast(target)
                failed = pa.array([False] * count)
            except Exception:
                made, failed = pa.nulls(count, target), pa.array([True] * count)
        else:
            rows: Any = [()] * count
            if grouped:
                rows = (group(each.values) for each in arrays[0])
            elif columns:
                rows = zip(*(c.to_pylist() for c in columns), strict=True)
            outcomes = [one(values) for values in rows]
            made = pa.array([value for value, _ in outcomes], type=target)
            failed = pa.array([bad for _, bad in outcomes], type=pa.bool_())
        return pa.StructArray.from_arrays([made, failed], names=["value", "failed"])

    import inspect

    import pyarrow

    # Spark finds out by the annotations of each parameter what the function takes.
    given = 1 if grouped else max(1, len(parameters))
    names = [f"a{number}" for number in range(given)]
    evaluate.__annotations__ = dict.fromkeys([*names, "return"], pyarrow.Array)
    kind_of = inspect.Parameter.POSITIONAL_ONLY
    evaluate.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind_of, annotation=pyarrow.Array) for name in names],
        return_annotation=pyarrow.Array,
    )
    return evaluate
