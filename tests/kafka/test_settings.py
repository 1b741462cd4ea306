"""What is said of the connection to Kafka, in the words of each of its clients."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from streamsql.cli.execution.engine import kafka_of
from streamsql.errors import ConfigError, UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.security import checked, to_librdkafka
from streamsql.properties_file import parse_properties

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def test_name_and_password() -> None:
    found = to_librdkafka(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": rf'{SCRAM} username="al\"ice" password="a=b; c";',
        }
    )
    assert found == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": 'al"ice',
        "sasl.password": "a=b; c",
    }


def test_oauth() -> None:
    found = to_librdkafka(
        {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
            "sasl.jaas.config": f"{OAUTH} clientId='me' clientSecret='s' scope='kafka';",
        }
    )
    assert found["sasl.oauthbearer.method"] == "oidc"
    assert found["sasl.oauthbearer.client.id"] == "me"
    assert found["sasl.oauthbearer.client.secret"] == "s"
    assert found["sasl.oauthbearer.token.endpoint.url"] == "https://id.example/token"


def test_certificates(tmp_path: Path) -> None:
    trust, own = tmp_path / "ca.pem", tmp_path / "own.pem"
    trust.write_text("x")
    own.write_text("y")
    files = {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trust),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(own),
        "ssl.key.password": "p",
        "ssl.endpoint.identification.algorithm": "",
    }
    assert to_librdkafka(files) == {
        "ssl.ca.location": str(trust),
        "ssl.certificate.location": str(own),
        "ssl.key.location": str(own),
        "ssl.key.password": "p",
        "ssl.endpoint.identification.algorithm": "none",
    }
    inline = {
        "ssl.truststore.certificates": "CA",
        "ssl.keystore.certificate.chain": "CHAIN",
        "ssl.keystore.key": "KEY",
    }
    assert to_librdkafka(inline) == {
        "ssl.ca.pem": "CA",
        "ssl.certificate.pem": "CHAIN",
        "ssl.key.pem": "KEY",
    }
    pkcs12 = {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": "/x.p12",
        "ssl.keystore.password": "p",
    }
    assert to_librdkafka(pkcs12) == {
        "ssl.keystore.location": "/x.p12",
        "ssl.keystore.password": "p",
    }


@pytest.mark.parametrize(
    ("properties", "kind", "message"),
    [
        ({"group.id": "x"}, ConfigError, "group.id is not a setting of the connection"),
        ({"sasl.jaas.config": f"{PLAIN};"}, ConfigError, "no username and password"),
        ({"sasl.jaas.config": "com.example.Login required;"}, UnsupportedError, "login module"),
        ({"ssl.truststore.location": "/x.jks"}, UnsupportedError, "must be a PEM file"),
        (
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/no/such.pem"},
            ConfigError,
            "file /no/such.pem does not exist",
        ),
    ],
)
def test_what_is_refused(properties: dict[str, str], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        checked(properties)


def test_a_client_hands_its_connection_on() -> None:
    security = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} username="u" password="secret";',
    }
    client = KafkaClient("127.0.0.1:1", security=security)
    assert client.java_settings == {**security, "bootstrap.servers": "127.0.0.1:1"}
    assert client.settings["sasl.password"] == "secret"
    assert client.settings["bootstrap.servers"] == "127.0.0.1:1"


def test_properties_files() -> None:
    text = (
        "# a comment\n! another\n\nplain=value\n  spaced : value with = signs  \n"
        "long = one, \\\n   two\npath=C\\:\\\\x\ncaf\\u00e9 = yes\nempty\nlast\\ name=1\n"
    )
    assert parse_properties(text) == {
        "plain": "value",
        "spaced": "value with = signs  ",
        "long": "one, two",
        "path": "C:\\x",
        "café": "yes",
        "empty": "",
        "last name": "1",
    }


def test_the_option(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nsecurity.protocol=SSL\n")

    def chosen(servers: str | None, config: Path | None) -> tuple[str | None, dict[str, str]]:
        text = str(config) if config else None
        return kafka_of(Namespace(bootstrap_servers=servers, kafka_config=text))

    assert chosen(None, None) == (None, {})
    assert chosen(None, file) == ("a:1", {"security.protocol": "SSL"})
    assert chosen("b:2", file) == ("b:2", {"security.protocol": "SSL"})
    file.write_text("security.protocol=SSL\n")
    with pytest.raises(ConfigError, match="not where"):
        chosen(None, file)
    with pytest.raises(ConfigError, match="cannot read"):
        chosen(None, tmp_path / "missing")
