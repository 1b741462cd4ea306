"""A pipeline as data: what a run of the driver is given. Loads nothing that runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamsql.test_driver.json_values import JSONObject


@dataclass(frozen=True)
class Pipeline:
    """Statements and input records as JSON objects of tests."""

    statements: tuple[str, ...]
    inputs: Sequence[JSONObject] = ()
    outputs: Sequence[str] = ()
    """Topics to be read, which exist even if no statement creates them."""
    topics: Sequence[JSONObject] = ()
    """Topics that are said to be there before, with their schemas."""
    properties: Mapping[str, str] = field(default_factory=dict)
