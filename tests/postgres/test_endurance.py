"""Ten thousand messages that make no sense, and five hundred clients that say nothing."""

from __future__ import annotations

import random
from contextlib import ExitStack

import psutil
import pytest
from postgres.raw import SYNC, Raw, message
from postgres.stand_in import StandInListener

pytestmark = pytest.mark.slow

MESSAGES, EACH = 10_000, 10
TYPES = [bytes([code]) for code in b"QPBDECSHdcfpF?\0\xff"]
TEXTS = [b"SELECT $1", b"SELECT n FROM readings", b"BEGIN", b"FETCH c", b"\xff", b"x" * 200]
GROWN_MB = 60


def malformed(numbers: random.Random) -> bytes:
    """A message: of any type and content, now and then with a length that is wrong."""
    body = numbers.choice([numbers.randbytes(numbers.randrange(40)), numbers.choice(TEXTS) + b"\0"])
    made = message(numbers.choice(TYPES), body)
    if numbers.random() < 0.1:
        made = made[:1] + numbers.randbytes(4) + made[5:]
    return made


def test_what_makes_no_sense_harms_no_other_client(
    stand_in: StandInListener, caplog: pytest.LogCaptureFixture
) -> None:
    numbers = random.Random(1)
    process = psutil.Process()
    before = 0
    for connection in range(MESSAGES // EACH):
        if connection == MESSAGES // EACH // 5:
            before = process.memory_info().rss
        with Raw(stand_in.port) as raw:
            raw.send(*(malformed(numbers) for _ in range(EACH)), SYNC, message(b"X"))
            raw.finish()
    with ExitStack() as idle:
        for _ in range(500):
            idle.enter_context(Raw(stand_in.port))
        with Raw(stand_in.port) as raw:
            raw.send(message(b"Q", b"SELECT n FROM readings\0"))
            assert raw.types() == "TDDCZ"
    assert not [found for found in caplog.records if found.levelname == "ERROR"]
    assert process.memory_info().rss - before < GROWN_MB << 20
