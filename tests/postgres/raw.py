"""The protocol by hand: messages as bytes, for what no client sends."""

from __future__ import annotations

import socket
import struct
from types import TracebackType

SECONDS = 30.0


def message(type: bytes, body: bytes = b"") -> bytes:
    return type + struct.pack("!i", len(body) + 4) + body


def startup(user: str = "ann", **more: str) -> bytes:
    given = {"user": user, **more}
    pairs = b"".join(f"{name}\0{value}\0".encode() for name, value in given.items())
    body = struct.pack("!I", 0x30000) + pairs + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def parse(text: str, name: str = "") -> bytes:
    return message(b"P", f"{name}\0{text}\0".encode() + b"\0\0")


BIND = message(b"B", b"\0\0\0\0\0\0\0\0")
SYNC = message(b"S")


def execute(rows: int = 0) -> bytes:
    return message(b"E", b"\0" + struct.pack("!i", rows))


class Raw:
    """One connection."""

    def __init__(self, port: int, *, start: bool = True) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), SECONDS)
        self.key = b""
        if start:
            self.send(startup())
            self.key = dict(self.until(b"Z"))[b"K"]

    def send(self, *parts: bytes) -> None:
        try:
            self._socket.sendall(b"".join(parts))
        except ConnectionError:
            pass  # The other side has closed; what it has said before can be read.

    def next(self) -> tuple[bytes, bytes]:
        """A message's type and body; an empty type at the end."""
        head = self._exactly(5)
        if len(head) < 5:
            return b"", b""
        return head[:1], self._exactly(struct.unpack("!i", head[1:])[0] - 4)

    def until(self, type: bytes) -> list[tuple[bytes, bytes]]:
        """All messages up to one of a type, which is the last, or to the end."""
        found = [self.next()]
        while found[-1][0] not in (type, b""):
            found.append(self.next())
        return found

    def types(self, last: bytes = b"Z") -> str:
        """The types of the messages up to one, without rows' repetition."""
        return b"".join(type for type, _ in self.until(last)).decode()

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                piece = self._socket.recv(count - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                break
            data += piece
        return data

    def finish(self) -> None:
        """Say no more, and hear the other side out."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
            while self._socket.recv(65_536):
                pass
        except ConnectionError:
            pass

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Raw:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
