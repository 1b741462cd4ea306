"""Files carried out by an engine, as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamsql.errors import StreamSQLError, unexpected
from streamsql.results import Result
from streamsql.run_script import NamedText
from streamsql.runtime.state import Context, EngineState
from streamsql.session import Session
from streamsql.statements.changes.apply import apply_files


def applied(
    state: EngineState,
    texts: Sequence[NamedText],
    variables: Mapping[str, str],
    session: Session | None,
    *,
    prune: bool,
) -> list[Result]:
    """What was done. The StreamSQLError of what cannot be done is raised before anything is.
    Without a session that is the engine's own."""
    if state.failover is not None:
        state.failover.check_leads()
    context = Context(state, session or state.session, lambda path: ())
    given = {name.upper(): value for name, value in variables.items()}
    try:
        return apply_files(texts, given, context, prune=prune)
    except StreamSQLError:
        raise
    except Exception as error:
        if state.config.debug:
            raise
        raise unexpected("the files were not applied", error) from error
