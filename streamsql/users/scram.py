"""SCRAM-SHA-256 (RFC 5802 and 7677). A server stores a verifier in PostgreSQL's form; an Argon2
hash cannot replace it, because the client computes its proof with PBKDF2. The exchange is a pure
state machine."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 16_384
"""Four times PostgreSQL's: some hundredths of a second per guess."""
_FORM = re.compile(r"SCRAM-SHA-256\$(\d{1,7}):([^$:]+)\$([^$:]+):([^$:]+)")
_FIRST = re.compile(
    r"(?P<gs2>[nyp])(?:=[^,]*)?,(?:a=[^,]*)?,(?P<bare>n=[^,]*,r=(?P<nonce>[^,]+).*)"
)
_FINAL = re.compile(r"(?P<rest>c=(?P<binding>[^,]*),r=(?P<nonce>[^,]*).*),p=(?P<proof>[^,]*)")


class LoginRefused(Exception):
    """A failed exchange; the text is for the log, not for the client."""


@dataclass(frozen=True)
class Verifier:
    """Verifies a proof without the password."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __str__(self) -> str:
        salt, stored, server = map(_base64, (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"


def verifier_of(password: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> Verifier:
    salt = secrets.token_bytes(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password).encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    stored_key = hashlib.sha256(client_key).digest()
    return Verifier(iterations, salt, stored_key, hmac.digest(salted, b"Server Key", "sha256"))


def read_verifier(text: str) -> Verifier | None:
    """Parses a verifier; None if malformed."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    try:
        salt, stored, server = (base64.b64decode(found[n], validate=True) for n in (2, 3, 4))
    except binascii.Error:
        return None
    return Verifier(int(found[1]), salt, stored, server)


def decoy(name: str, secret: bytes) -> Verifier:
    """A verifier that no password matches, constant per name, so clients cannot detect unknown
    names."""
    salt = hmac.digest(secret, name.encode(), "sha256")[:16]
    return Verifier(ITERATIONS, salt, secrets.token_bytes(32), secrets.token_bytes(32))


def prepared(password: str) -> str:
    """SASLprep as in PostgreSQL: a prohibited password is used unchanged."""
    if password.isascii():
        return password
    kept = (" " if stringprep.in_table_c12(c) else c for c in password)
    text = unicodedata.normalize("NFKC", "".join(c for c in kept if not stringprep.in_table_b1(c)))
    forbidden = (
        stringprep.in_table_c12,
        stringprep.in_table_c21_c22,
        stringprep.in_table_c3,
        stringprep.in_table_c4,
        stringprep.in_table_c5,
        stringprep.in_table_c6,
        stringprep.in_table_c7,
        stringprep.in_table_c8,
        stringprep.in_table_c9,
        stringprep.in_table_a1,
    )
    return password if not text or any(rule(c) for c in text for rule in forbidden) else text


class Exchange:
    """The server side of one login: `first`, then `final`."""

    def __init__(self, verifier: Verifier, nonce: str | None = None) -> None:
        self._verifier = verifier
        self._nonce = nonce or _base64(secrets.token_bytes(18))
        self._said = ""
        self._binding = ""

    def first(self, message: bytes) -> bytes:
        """The response to client-first-message; LoginRefused if malformed."""
        found = _FIRST.fullmatch(_text(message))
        if found is None:
            raise LoginRefused("malformed first message")
        if found["gs2"] == "p":
            raise LoginRefused("channel binding was not offered")
        # The client repeats its channel binding in its last message.
        self._binding = _base64(_text(message)[: found.start("bare")].encode())
        self._nonce = found["nonce"] + self._nonce
        salt = _base64(self._verifier.salt)
        answer = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        self._said = f"{found['bare']},{answer}"
        return answer.encode()

    def final(self, message: bytes) -> bytes:
        """The response to client-final-message; LoginRefused for a wrong password."""
        found = _FINAL.fullmatch(_text(message))
        if found is None or not self._said:
            raise LoginRefused("malformed final message")
        if found["nonce"] != self._nonce or found["binding"] != self._binding:
            raise LoginRefused("another nonce or channel binding")
        try:
            proof = base64.b64decode(found["proof"], validate=True)
        except (binascii.Error, ValueError):
            raise LoginRefused("malformed proof") from None
        said = f"{self._said},{found['rest']}".encode()
        signature = hmac.digest(self._verifier.stored_key, said, "sha256")
        if len(proof) != len(signature):
            raise LoginRefused("malformed proof")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        stored = hashlib.sha256(client_key).digest()
        if not hmac.compare_digest(stored, self._verifier.stored_key):
            raise LoginRefused("wrong password")
        return f"v={_base64(hmac.digest(self._verifier.server_key, said, 'sha256'))}".encode()


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise LoginRefused("not UTF-8") from None


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
