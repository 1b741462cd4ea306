"""What the JVMs of Kafka's servers share, the broker's and Connect's: local ports, the files
that configure them, and their end."""

from __future__ import annotations

import random
import socket
import subprocess
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

HOST = "127.0.0.1"

_PORTS = range(20_000, 32_768)
"""Below Linux's ephemeral ports, which another connection could take before the server."""

_LOGGING = """\
<Configuration status="OFF" shutdownHook="disable">
  <Appenders>
    <RollingFile name="file" fileName="{log}" filePattern="{log}.%i">
      <PatternLayout pattern="%d{{ISO8601}} %-5p %c{{1}} %m%n"/>
      <Policies><SizeBasedTriggeringPolicy size="10 MB"/></Policies>
      <DefaultRolloverStrategy max="3"/>
    </RollingFile>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="file"/></Root>
    <Logger name="org.apache.kafka.common.config.AbstractConfig" level="WARN"/>
  </Loggers>
</Configuration>
"""


def free_ports(count: int) -> list[int]:
    """Local ports that are free now, in random order."""
    return list(islice(filter(is_free, random.sample(_PORTS, 100)), count))


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As Kafka binds: lingering connections are ignored.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def write_logging(config: Path, log: Path) -> None:
    """Configures log4j to write to `log`, with files of a bounded number and size."""
    path = str(log).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    config.write_text(_LOGGING.format(log=path), encoding="utf-8")


def properties_text(properties: Mapping[str, str]) -> str:
    """The properties as the content of a file."""
    return "".join(f"{escaped(k)}={escaped(v)}\n" for k, v in properties.items())


def escaped(text: str) -> str:
    r"""For a properties file: ASCII, with \ as the escape."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    text = f"\\{text}" if text.startswith(" ") else text
    return "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in text)


def stop(process: subprocess.Popen[bytes], timeout: float) -> None:
    """Ends a server that watches its standard input, by force after some seconds."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_errors(*logs: Path) -> str | None:
    """The last lines about errors in what a server printed and logged."""
    lines: list[str] = []
    for log in logs:
        try:
            text = log.read_text("utf-8", errors="replace")
        except OSError:
            continue
        lines += [line for line in text.splitlines()[-200:] if "ERROR" in line or "Error" in line]
    return "\n".join(lines[-3:]) or None
