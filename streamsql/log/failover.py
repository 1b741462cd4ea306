"""One server of a service: follows the command log, and leads when elected.

A follower applies the log's entries to its own catalog and runs no persistent query. A new leader
first fences its predecessor, reads the log to its end, announces itself, and then runs the queries.
One thread does this, separate from statement threads.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from streamsql.errors import ExternalError, StreamSQLError, unexpected
from streamsql.kafka.client import KafkaClient
from streamsql.log.command_records import Leader
from streamsql.log.entries import Entry
from streamsql.log.leadership import SESSION_SECONDS, Leadership
from streamsql.log.topic_log import CommandLog
from streamsql.version import VERSION
from streamsql.waiting import await_condition

_log = logging.getLogger("streamsql.service")
_log.addHandler(logging.NullHandler())
POLL_SECONDS = 0.1
RETRY_SECONDS = 1.0
LEASE_SECONDS = 0.5
"""How often the right to write is extended."""
DECIDE_SECONDS = 20.0
"""How long a statement waits for a server that has only just come up to know its part."""
READ_SECONDS = 60.0
APPLY_SECONDS = 300.0
"""How long an entry is tried until this server gives up following, and never leads."""


Effect = Callable[[], None]


class _GivenUpError(ExternalError):
    """An entry has not taken effect for so long that this server stops following."""


@dataclass(frozen=True)
class Followed:
    """The engine that follows the log, as far as failover knows it."""

    lock: AbstractContextManager[object]
    """Held while an entry takes effect, and while the engine begins to lead."""
    fold: Callable[[Entry], Effect]
    """Fold an entry into the engine's state; the effect brings the engine there. It raises
    ExternalError where that takes longer, and is then called again."""
    lead: Callable[[bool], None]
    """Run the persistent queries from now on, or run none."""
    is_ready: Callable[[], bool]
    """Whether its queries could begin at once."""
    write_for: Callable[[Callable[[], float]], None]
    """Let the queries write for as many seconds as the function says, and no longer. Waits for
    the JVM."""
    succeed: Callable[[], None]
    """Discard what is outdated because another server has led since this one last did."""
    entries_before: Callable[[], list[Entry]]
    """The statements from before the service, which a service without any adopts."""


class Failover:
    """Whether this server leads, and who does if not; may be asked from any thread."""

    def __init__(
        self, engine: Followed, log: CommandLog, client: KafkaClient, url: str | None
    ) -> None:
        self._engine = engine
        self._log = log
        self._url = url
        group = f"streamsql-{log.service_id}"
        self._leadership = Leadership(client, log.topic, group, lambda: log.position)
        self._stopped = threading.Event()
        self._settled = threading.Event()
        self._thread = threading.Thread(target=self._run, name="failover", daemon=True)
        self._lease = threading.Thread(target=self._extend, name="write lease", daemon=True)
        self._leader: Leader | None = None
        self._leads = False
        self._stands = False
        self._began = self._looked = -math.inf
        self._due: Entry | None = None
        """Read from the log, and not in effect yet."""
        self._effect: Effect | None = None
        """The effect of the entry that is due."""
        self._due_since = 0.0
        self._done = 0
        """The offset up to which the log is in effect here."""
        self.failure: StreamSQLError | None = None
        """Why this server follows no longer; it never leads again."""

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        self._began = time.monotonic()
        self._thread.start()
        self._lease.start()

    def close(self) -> None:
        """Leave, so that another server leads; the queries have been stopped before."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(RETRY_SECONDS + 2 * POLL_SECONDS)
        self._leadership.close()

    # -- announcements -----------------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        """Whether statements that change things can be run here, now."""
        return self._leads and self._log.writable

    @property
    def leader_url(self) -> str | None:
        """Where the leader is; None while that is not known, and where it is this server."""
        leader = self._leader
        if self._leads or leader is None or leader.url == self._url:
            return None
        return leader.url

    def check_leads(self) -> None:
        """Wait until this server knows its part; ExternalError where it does not lead."""
        if not await_condition(
            self._leads_or_raises, DECIDE_SECONDS, every=POLL_SECONDS, pause=self._stopped.wait
        ):
            raise ExternalError("Kafka does not accept statements at present", retryable=True)

    def _leads_or_raises(self) -> bool:
        if self.leads:
            return True
        if self.failure is not None:
            raise self.failure
        if self._settled.is_set() and not self._leadership.owner:
            url = self.leader_url
            raise ExternalError(
                "this server is a follower: only the leader accepts changes",
                retryable=True,
                hint=f"Send the statement to {url}." if url else "Try again in some seconds.",
            )
        return False

    def sync(self, timeout: float) -> bool:
        """Wait until all that is in the log now has taken effect here; whether it has."""
        end = self._log.end()
        await_condition(lambda: self._done >= end or self.failure is not None, timeout, every=0.01)
        return self._done >= end

    # -- the thread ------------------------------------------------------------------------------

    def read_to_end(self) -> None:
        """Applies the current content of the log; ExternalError if Kafka does not respond."""
        end = self._log.committed_end()
        # Reading waits for a record itself.
        if not await_condition(
            lambda: self._done >= end, READ_SECONDS, pause=lambda _: self._read()
        ):
            raise ExternalError("the command log cannot be read to its end", retryable=True)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._step()
            except _GivenUpError as error:
                return self._fail(error)
            except ExternalError as error:
                # Kafka is lost or refuses for now, or an entry does not take effect yet.
                _log.warning("%s", error.message)
                self._stopped.wait(RETRY_SECONDS)
            except StreamSQLError as error:
                return self._fail(error)
            except Exception as error:
                return self._fail(unexpected("cannot follow the command log", error))
        return None

    def _extend(self) -> None:
        """In a thread of its own, since a JVM that does not answer holds it up."""
        led = False
        while not self._stopped.wait(LEASE_SECONDS):
            if self._leads or led:
                self._engine.write_for(self._leadership.certain_seconds)
            led = self._leads

    def _stand(self) -> None:
        """Joins the election: immediately without other members, otherwise when queries could
        start. Kafka elects arbitrarily, and a restarted server would otherwise lead before it is
        ready while a follower is."""
        now = time.monotonic()
        if not self._engine.is_ready():
            if now - self._looked < RETRY_SECONDS:
                return
            self._looked = now
            if self._leadership.members():
                if now - self._began > SESSION_SECONDS + RETRY_SECONDS:
                    self._settled.set()  # The other member is alive.
                return
        self._leadership.start()
        self._stands = True

    def _step(self) -> None:
        if not self._stands:
            self._stand()
        owner = self._leadership.owner
        if owner and not self.leads:
            self._take_over()
        elif not owner and self._leads:
            self._step_down()
        if self._leadership.decided.is_set():
            self._settled.set()
        self._read()

    def _read(self) -> None:
        """Applies the next record, if one arrives soon. A failed entry is retried before any later
        one."""
        found = self._due or self._log.poll(POLL_SECONDS)
        if isinstance(found, Entry):
            self._apply(found)
        elif isinstance(found, Leader):
            self._leader = found
            if found.url != self._url:
                _log.info("the server at %s leads", found.url)
            if self._leads and found.url != self._url:
                self._step_down()
        self._done = self._log.position

    def _apply(self, entry: Entry) -> None:
        with self._engine.lock:
            if not self._log.is_new(entry):
                return
            if self._due is None:
                self._effect, self._due_since = self._engine.fold(entry), time.monotonic()
                self._due = entry
            assert self._effect is not None
            try:
                self._effect()
            except ExternalError as error:
                if time.monotonic() - self._due_since > APPLY_SECONDS:
                    raise _GivenUpError(
                        f"entry {entry.sequence} cannot be applied: {error.message}",
                        hint="Restart this server. Another one leads meanwhile.",
                    ) from error
                raise
            self._log.took_effect(entry)
            self._due = self._effect = None

    def _take_over(self) -> None:
        # No statement runs until all that was written before is known here.
        with self._engine.lock:
            self._log.take_over()
            self.read_to_end()
            if not self._log.sealed and self._leadership.all_sign():
                self._log.seal()
                self.read_to_end()
            if self._log.next_sequence == 1:
                self._log.adopt(self._engine.entries_before())
                self.read_to_end()
            if self._leader is not None and self._leader.url != self._url:
                # Before the announcement, after which this server is its own predecessor.
                self._engine.succeed()
            self._log.announce(Leader(self._url, VERSION))
            self._leads = True
        _log.info("this server leads the service %s", self._log.service_id)
        self._engine.lead(True)

    def _step_down(self) -> None:
        _log.warning("this server is no longer the leader")
        self._leads = False
        self._log.give_up()
        self._engine.lead(False)

    def _fail(self, error: StreamSQLError) -> None:
        _log.error("cannot follow the command log: %s", error.message)
        self.failure = error
        self._step_down()
        self._settled.set()
        # A server that does not know everything must not lead.
        self._leadership.close()
