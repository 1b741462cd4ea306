"""Patterns of MATCH_RECOGNIZE as hypothesis makes them."""

from __future__ import annotations

from hypothesis import strategies as st

from streamsql import nodes as n


def patterns(names: st.SearchStrategy[str]) -> st.SearchStrategy[n.Pattern]:
    """All patterns that can be written, of variables of these names."""
    variables = st.builds(n.PatternVariable, names)
    single = st.one_of(
        variables,
        st.builds(n.PatternPermutation, st.lists(variables, min_size=2, max_size=3).map(tuple)),
        st.sampled_from("^$").map(n.PatternAnchor),
    )
    return st.recursive(
        single,
        lambda parts: repeated(parts) | st.builds(n.PatternExclusion, parts),
        max_leaves=5,
    )


def repeated(parts: st.SearchStrategy[n.Pattern]) -> st.SearchStrategy[n.Pattern]:
    """Sequences, alternatives and repetitions of parts."""
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    bounds = st.tuples(st.integers(0, 2), st.none() | st.integers(1, 2))
    return st.one_of(
        st.builds(n.PatternSequence, several),
        st.builds(n.PatternAlternatives, several),
        st.builds(
            lambda part, given, reluctant: n.PatternRepeat(
                part, given[0], given[1] and given[0] + given[1], reluctant
            ),
            parts,
            bounds,
            st.booleans(),
        ),
    )


def after_match(names: st.SearchStrategy[str]) -> st.SearchStrategy[n.AfterMatch]:
    """Where the next match may begin."""
    return st.one_of(
        st.sampled_from([n.SkipTo.PAST_LAST_ROW, n.SkipTo.NEXT_ROW]).map(n.AfterMatch),
        st.builds(n.AfterMatch, st.sampled_from([n.SkipTo.FIRST, n.SkipTo.LAST]), names),
    )
