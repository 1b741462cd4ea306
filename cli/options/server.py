"""The options of `streamsql server`."""

from __future__ import annotations

import argparse


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Addresses, files and bounds of a server; what they mean is in docs/server.md."""
    group = parser.add_argument_group("server options")
    _add_service(group)
    _add_security(group)
    _add_logs(group)
    _add_bounds(group)


def _add_service(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="where to take requests (default: 127.0.0.1:8088, this machine only)",
    )
    group.add_argument(
        "--postgres",
        metavar="HOST:PORT",
        default=argparse.SUPPRESS,
        help="port for PostgreSQL clients: psql, drivers, BI tools (default: none; PORT alone "
        "listens on localhost)",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="a .properties file: ksqlDB's names of settings; options go before it",
    )
    group.add_argument(
        "--service-id",
        metavar="ID",
        help="servers with the same id share their statements through Kafka, and one of them runs "
        "the "
        "queries (default with --bootstrap-servers: default_)",
    )
    group.add_argument(
        "--advertised-url", metavar="URL", help="how other servers of the service reach this one"
    )
    group.add_argument(
        "--checkpoints",
        metavar="PLACE",
        help="a folder that all servers of the service reach, or s3a://BUCKET/FOLDER",
    )
    group.add_argument(
        "--queries-file",
        metavar="FILE",
        help="run the statements of a .sql file, and take no others",
    )


def _add_security(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--tls-cert", metavar="FILE", help="a certificate (PEM): serve HTTPS only")
    group.add_argument("--tls-key", metavar="FILE", help="its private key (PEM)")
    group.add_argument(
        "--tls-client-ca",
        metavar="FILE",
        help="only clients with a certificate that one of these authorities (PEM) has signed",
    )
    group.add_argument(
        "--users-file",
        metavar="FILE",
        help="users of the server, see `streamsql user` (default: unrestricted access)",
    )
    group.add_argument(
        "--allowed-host",
        metavar="NAME",
        action="append",
        help="a host name of this server, or *.NAME, in addition to localhost and the "
        "listen address; can be repeated",
    )
    group.add_argument(
        "--trusted-proxy",
        metavar="ADDRESS",
        action="append",
        help="a proxy, or a network of proxies (10.0.0.0/8), whose X-Forwarded-For identifies the "
        "client; "
        "can be repeated",
    )
    group.add_argument(
        "--scripts",
        metavar="DIR",
        help="the console may open and save files of statements in this folder "
        "(default: it may not)",
    )
    group.add_argument(
        "--cors-origin",
        metavar="ORIGIN",
        action="append",
        help="pages of this origin may use the server from a browser; may be repeated",
    )


def _add_logs(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--access-log", action="store_true", help="log every request")
    group.add_argument(
        "--log-format", choices=("text", "json"), help="of the log's lines (default: text)"
    )
    group.add_argument(
        "--openlineage-url",
        metavar="URL",
        help="report queries and column lineage to this lineage backend "
        "(default: $OPENLINEAGE_URL, or none)",
    )
    group.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), help="default: info"
    )


def _add_bounds(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max-requests-per-second",
        metavar="N",
        help="per user, or per address without users (default: unlimited)",
    )
    group.add_argument(
        "--max-push-queries", type=int, metavar="N", help="push queries at a time (default: 100)"
    )
    group.add_argument(
        "--max-request-bytes", type=int, metavar="N", help="size of a request (default: 10 MiB)"
    )
    group.add_argument(
        "--max-statement-bytes",
        type=int,
        metavar="N",
        help="size of a request with statements (default: 1 MiB)",
    )
