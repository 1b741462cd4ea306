"""A port is had alone."""

from __future__ import annotations

import pytest

from streamsql.web.serving import claim


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_that_somebody_listens_at_cannot_be_had(host: str) -> None:
    with claim(host, 0) as claimed:
        claimed.listen()
        port = claimed.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            claim(host, port)
    claim(host, port).close()
