"""The packages of the JVM part: each needs only packages below it."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter

from streamsql.jvm.build import SOURCES
from streamsql.jvm.sources import java_sources


def _packages() -> dict[str, set[str]]:
    """Each package and those of ours that it names: in imports or in full."""
    needs: dict[str, set[str]] = {}
    for source in java_sources(SOURCES):
        text = source.read_text("utf-8")
        declared = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
        assert declared is not None, source
        package = declared[1]
        assert source.parent == SOURCES.joinpath(*package.split(".")), source
        named = set(re.findall(r"\b(io\.streamsql(?:\.[a-z]\w*)*)\.[A-Z]", text))
        needs.setdefault(package, set()).update(named - {package})
    return needs


def test_packages_need_each_other_without_a_circle() -> None:
    needs = _packages()
    assert set().union(*needs.values()) <= set(needs)
    TopologicalSorter(needs).prepare()  # CycleError names a circle
