"""Functions that hide characters of a text, each by the mask of its class."""

from __future__ import annotations

from typing import Any

from streamsql.functions.base import Call, Overload, SparkColumn, overload, scalar
from streamsql.types import STRING

_CATEGORY = "string"
_DEFAULTS = ("X", "x", "n", "-")
_MASKS = ", upper STRING, lower STRING, digit STRING, other STRING"


def _masked(F: Any, character: SparkColumn, masks: tuple[SparkColumn, ...]) -> SparkColumn:
    upper, lower, digit, other = (F.coalesce(mask, character) for mask in masks)
    return (
        F.when(character.rlike(r"^\p{javaUpperCase}$"), upper)
        .when(character.rlike(r"^\p{javaLowerCase}$"), lower)
        .when(character.rlike(r"^\p{Nd}$"), digit)
        .otherwise(other)
    )


def _mask_text(F: Any, text: SparkColumn, masks: tuple[SparkColumn, ...]) -> SparkColumn:
    chosen = masks or tuple(F.lit(mask) for mask in _DEFAULTS)
    # (?s) and the two negations: between any two characters, line ends included.
    characters = F.split(text, "(?s)(?!^)(?!$)", -1)
    shown = F.transform(characters, lambda c: F.when(c == "", c).otherwise(_masked(F, c, chosen)))
    return F.array_join(shown, "")


def _checked(F: Any, call: Call, value: SparkColumn, masks: tuple[SparkColumn, ...]) -> SparkColumn:
    """A mask is one character, or null to keep characters of that class."""
    for mask, constant in zip(masks, call.constants[-4:], strict=False):
        if isinstance(constant, str) and len(constant) == 1:
            continue
        wrong = F.length(mask) != 1
        value = F.when(wrong, call.fail("a mask has to be one character", STRING)).otherwise(value)
    return value


def _mask(F: Any, call: Call, text: SparkColumn, *masks: SparkColumn) -> SparkColumn:
    return _checked(F, call, _mask_text(F, text, masks), masks)


def _part(masks_left: bool, masks_count: bool) -> Any:
    """Masks (or keeps) the first or last `count` characters."""

    def impl(
        F: Any, call: Call, text: SparkColumn, count: SparkColumn, *masks: SparkColumn
    ) -> SparkColumn:
        size = F.length(text)
        masked_size = count if masks_count else size - count
        limit = F.greatest(F.least(masked_size, size), F.lit(0))
        from_left = masks_left == masks_count
        cut = limit if from_left else size - limit
        left, right = F.substr(text, F.lit(1), cut), F.substr(text, cut + 1, size)
        if from_left:
            left = _mask_text(F, left, masks)
        else:
            right = _mask_text(F, right, masks)
        negative = call.fail("the number of characters is negative", STRING)
        value = F.when(count < 0, negative).otherwise(F.concat(left, right))
        return _checked(F, call, value, masks)

    return impl


def _overloads(head: str, impl: Any) -> tuple[Overload, ...]:
    return tuple(
        overload(f"{head}{masks} -> STRING", impl, with_call=True) for masks in ("", _MASKS)
    )


MASKS = (
    scalar(
        "MASK",
        "The text with upper-case letters, lower-case letters, digits and other characters masked.",
        _CATEGORY,
        _overloads("text STRING", _mask),
        example=(("MASK('Ab 12')", "'Xx-nn'"), ("MASK('Ab 12', '*', NULL, '#', NULL)", "'*b ##'")),
    ),
    scalar(
        "MASK_LEFT",
        "The text with its first n characters masked.",
        _CATEGORY,
        _overloads("text STRING, count INT", _part(True, True)),
        example=("MASK_LEFT('Secret1', 3)", "'Xxxret1'"),
    ),
    scalar(
        "MASK_RIGHT",
        "The text with its last n characters masked.",
        _CATEGORY,
        _overloads("text STRING, count INT", _part(False, True)),
        example=("MASK_RIGHT('Secret1', 3)", "'Secrxxn'"),
    ),
    scalar(
        "MASK_KEEP_LEFT",
        "The text with all characters masked except the first n.",
        _CATEGORY,
        _overloads("text STRING, count INT", _part(True, False)),
        example=("MASK_KEEP_LEFT('Secret1', 3)", "'Secxxxn'"),
    ),
    scalar(
        "MASK_KEEP_RIGHT",
        "The text with all characters masked except the last n.",
        _CATEGORY,
        _overloads("text STRING, count INT", _part(False, False)),
        example=("MASK_KEEP_RIGHT('Secret1', 3)", "'Xxxxet1'"),
    ),
)
