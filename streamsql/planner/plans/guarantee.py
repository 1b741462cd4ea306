"""The delivery guarantee that the session requests for a query's results."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from streamsql.properties import GUARANTEE, get_text


class Guarantee(Enum):
    """Consumers that read committed data only see the difference."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


def guarantee(properties: Mapping[str, str]) -> Guarantee:
    asked = get_text(properties, GUARANTEE) or ""
    exactly = asked.startswith(Guarantee.EXACTLY_ONCE.value)
    return Guarantee.EXACTLY_ONCE if exactly else Guarantee.AT_LEAST_ONCE
