"""The session properties: names, values, defaults."""

from __future__ import annotations

import pytest

from streamsql.errors import ConfigError
from streamsql.properties import (
    AUTO_OFFSET_RESET,
    COLLECT_LIST_LIMIT,
    PROPERTIES,
    WRAP_SINGLE_VALUES,
    get_bool,
    get_int,
    get_text,
    resolve,
    validate,
)


@pytest.mark.parametrize(
    "name",
    [
        "auto.offset.reset",
        "AUTO.OFFSET.RESET",
        "ksql.streams.auto.offset.reset",
        "streamsql.auto.offset.reset",
    ],
)
def test_prefixes_and_case_do_not_matter(name: str) -> None:
    assert resolve(name).name == AUTO_OFFSET_RESET


def test_ksql_prefix_may_be_left_out() -> None:
    assert resolve("functions.collect_list.limit").name == COLLECT_LIST_LIMIT


def test_every_default_is_a_valid_value() -> None:
    for name, definition in PROPERTIES.items():
        assert definition.doc.endswith(".")
        if definition.default is not None:
            assert validate(name, definition.default) == (name, definition.default)


def test_values_are_stored_in_one_spelling() -> None:
    assert validate("processing.mode", " RealTime ") == ("processing.mode", "realtime")
    assert validate(WRAP_SINGLE_VALUES, "TRUE") == (WRAP_SINGLE_VALUES, "true")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("processing.mode", "fast"),
        ("streamsql.processing.commit.interval.ms", "1000"),
        (WRAP_SINGLE_VALUES, "yes"),
        (COLLECT_LIST_LIMIT, "0"),
        (COLLECT_LIST_LIMIT, "1.5"),
    ],
)
def test_wrong_values_are_rejected(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as raised:
        validate(name, value)
    assert value in raised.value.message
    assert raised.value.hint


def test_reading_falls_back_to_the_default() -> None:
    assert get_text({}, AUTO_OFFSET_RESET) == "earliest"
    assert get_text({AUTO_OFFSET_RESET: "latest"}, AUTO_OFFSET_RESET) == "latest"
    assert get_bool({}, WRAP_SINGLE_VALUES) is None
    assert get_bool({WRAP_SINGLE_VALUES: "false"}, WRAP_SINGLE_VALUES) is False
    assert get_int({COLLECT_LIST_LIMIT: "7"}, COLLECT_LIST_LIMIT) == 7
