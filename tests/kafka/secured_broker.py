"""The embedded broker's Kafka with a listener that wants TLS and a login, for one test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trustme

from streamsql.data_folder import DataDir
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.jars import ensure_jars
from streamsql.jvm.servers import HOST
from streamsql.kafka.broker_config import choose_ports, command, write_config
from streamsql.kafka.client import KafkaClient

START_SECONDS = 120.0
USER, PASSWORD = "analyst", 'pa;ss "word"'
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"

_LISTENERS = """
listeners=CLIENTS://{host}:{port},INSIDE://{host}:{inside},CONTROLLER://{host}:{controller}
advertised.listeners=CLIENTS://{host}:{port},INSIDE://{host}:{inside}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,INSIDE:PLAINTEXT,CLIENTS:SASL_SSL
inter.broker.listener.name=INSIDE
listener.name.clients.sasl.enabled.mechanisms=PLAIN
listener.name.clients.plain.sasl.jaas.config={jaas}
listener.name.clients.ssl.keystore.type=PEM
listener.name.clients.ssl.keystore.location={key}
"""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _escaped(text: str) -> str:
    """A value of a properties file."""
    return text.replace("\\", "\\\\")


def security(ca: Path, password: str = PASSWORD) -> dict[str, str]:
    """What a client needs, in the words of Kafka's Java client."""
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f"{_PLAIN} username={_quoted(USER)} password={_quoted(password)};",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca),
    }


@contextmanager
def secured_broker(folder: Path) -> Iterator[tuple[str, Path]]:
    """Its address, and the file of the authority that signed its certificate."""
    authority = trustme.CA()
    ca, key = folder / "ca.pem", folder / "broker.pem"
    authority.cert_pem.write_to_path(str(ca))
    certificate = authority.issue_cert(HOST, "localhost")
    _pkcs8(certificate, key)
    data = DataDir.at(folder / "data")
    ports, other = choose_ports(None), choose_ports(None)
    data.kafka.mkdir(parents=True, exist_ok=True)
    data.logs.mkdir(parents=True, exist_ok=True)
    config = write_config(data, ports)
    jaas = f"{_PLAIN} user_{USER}={_quoted(PASSWORD)};"
    more = _LISTENERS.format(
        host=HOST,
        port=ports.client,
        inside=other.client,
        controller=ports.controller,
        jaas=_escaped(jaas),
        key=key,
    )
    config.write_text(config.read_text("latin-1") + more, "latin-1")
    jars = [*ensure_jars("kafka"), ensure_runtime_jar()]
    with subprocess.Popen(
        command(data, config, jars, attached=True),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            inside = KafkaClient(f"{HOST}:{other.client}")
            assert inside.reachable(START_SECONDS), "the broker does not start"
            yield ports.bootstrap, ca
        finally:
            process.kill()


def _pkcs8(certificate: trustme.LeafCert, path: Path) -> None:
    """Kafka reads keys in PKCS #8 only."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    key = load_pem_private_key(certificate.private_key_pem.bytes(), None)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(pem + b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
