"""Finds tests: files of tests, folders, and pipelines with records. A pipeline `p.sql` is a test if
`p.outputs.json` exists; `p.inputs.json` has its inputs. Any other `.sql` contains tests if it has a
line `--@test: name`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path

from streamsql.errors import ConfigError
from streamsql.test_driver.json_values import JSON, JSONObject
from streamsql.testing.cases.case import Case, case_from_json
from streamsql.testing.cases.script_cases import script_cases

_INPUTS, _OUTPUTS = ".inputs.json", ".outputs.json"


def load(paths: Iterable[Path], substring: str = "") -> list[Case]:
    """The tests whose id contains `substring`. ConfigError for an invalid test."""
    cases = [case for path in paths for case in _of_path(path)]
    return [case for case in cases if substring in case.id]


def _of_path(path: Path) -> Iterator[Case]:
    if path.is_dir():
        for child in sorted(path.rglob("*")):
            if _is_pipeline(child):
                yield _pipeline(child)
            elif child.suffix == ".sql" and child.is_file():
                yield from script_cases(_text(child), child.stem, str(child))
            elif _is_test_file(child):
                yield from _tests(child, _read(child))
    elif not path.exists():
        raise ConfigError(f"{path} does not exist")
    elif path.suffix == ".sql":
        if _is_pipeline(path):
            yield _pipeline(path)
            return
        cases = script_cases(_text(path), path.stem, str(path))
        if not cases:
            raise ConfigError(
                f"{path} is not a test: it has no expected records",
                hint=f"Write them to {path.with_suffix(_OUTPUTS)}, or name a test with "
                "--@test: name and use ASSERT VALUES.",
            )
        yield from cases
    else:
        found = _read(path)
        if not _holds_tests(found):
            raise ConfigError(
                f"{path} is not a file of tests", hint='Such a file is {"tests": [..]}.'
            )
        yield from _tests(path, found)


def _is_pipeline(path: Path) -> bool:
    return path.suffix == ".sql" and path.with_suffix(_OUTPUTS).is_file()


def _is_test_file(path: Path) -> bool:
    if path.suffix != ".json" or path.name.endswith((_INPUTS, _OUTPUTS)):
        return False
    return _holds_tests(_read(path))


def _holds_tests(found: JSON) -> bool:
    return isinstance(found, dict) and isinstance(found.get("tests"), list)


def _tests(path: Path, found: JSONObject) -> Iterator[Case]:
    for test in found["tests"]:
        script = test.get("script") if isinstance(test, dict) else None
        text = None if script is None else _text(path.parent / script)
        yield case_from_json(test, path.stem, text)


def _pipeline(path: Path) -> Case:
    test = {"id": path.stem, "name": path.stem, "outputs": _records(path, _OUTPUTS, "outputs")}
    if path.with_suffix(_INPUTS).is_file():
        test["inputs"] = _records(path, _INPUTS, "inputs")
    return case_from_json(test, path.stem, _text(path))


def _records(path: Path, suffix: str, name: str) -> JSON:
    file = path.with_suffix(suffix)
    found = _read(file)
    records = found.get(name) if isinstance(found, dict) else found
    if not isinstance(records, list):
        raise ConfigError(f'{file} does not hold {{"{name}": [..]}}')
    return records


def _read(path: Path) -> JSON:
    try:
        return json.loads(_text(path), parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path} is not JSON: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
