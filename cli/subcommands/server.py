"""`streamsql server`: an engine, and the HTTP server over it, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from streamsql.cli.execution.engine import kafka_of, spark_of
from streamsql.cli.execution.openlineage import reporting
from streamsql.cli.execution.postgres import listener, postgres_address, warn_if_open
from streamsql.cli.options.parser import assignments, properties_of
from streamsql.cli.subcommands.queries_file import QueriesFile
from streamsql.errors import ConfigError
from streamsql.server.settings.config import ServerConfig, listen_address
from streamsql.server.telemetry.logs import announce, configure_logging
from streamsql.users.work import WorkThreads

if TYPE_CHECKING:
    from streamsql.engine import Engine, EngineConfig
    from streamsql.server.settings.config import ServerConfig
    from streamsql.server.settings.config_file import ConfigFile
    from streamsql.server.state.server_state import ServerState

_log = logging.getLogger("streamsql.server")
LONE_SERVICE = "default_"
"""The service of servers that are given none."""


def command(args: argparse.Namespace) -> int:
    """Exit code 0 after a stop that was asked for."""
    from streamsql.engine import Engine
    from streamsql.server.run import run
    from streamsql.server.settings.config_file import ConfigFile, read_config
    from streamsql.server.state.server_state import ServerState

    file = read_config(Path(args.config)) if args.config else ConfigFile()
    _fill(args, file)
    config = server_config(args)
    defined = assignments(args.define, "--define")
    variables = {name.upper(): value for name, value in defined.items()}
    queries = QueriesFile(args.queries_file, variables) if args.queries_file else None
    engine = Engine(engine_config(args, file, config))
    work = WorkThreads(config.threads)
    beside = listener(args.postgres, engine, config, work) if args.postgres else None
    configure_logging(args.log_format or "text", args.log_level or "info")
    if args.debug:
        _say(engine.sizes)
    _warn_if_open(config)
    if args.postgres:
        warn_if_open(args.postgres, config)
    engine.session.variables.update(variables)
    began = time.monotonic()
    engine.start()
    try:
        if queries is not None:
            queries.run(engine)
        state = ServerState(engine, config, work)
        with reporting(args.openlineage_url, engine, config.service_id):
            run(
                state,
                lambda url: _listening(state, url, began, args.postgres),
                beside,
            )
    finally:
        _close(engine, config.stop_seconds)
    return queries.exit_code if queries is not None else 0


def _fill(args: argparse.Namespace, file: ConfigFile) -> None:
    """Options that are not given are the file's."""
    for name, value in file.options.items():
        if getattr(args, name, None) is None:
            setattr(args, name, value)


def server_config(args: argparse.Namespace) -> ServerConfig:
    """The server that the options describe; ConfigError for one that makes no sense."""
    from streamsql.server.security.proxies import trusted_proxy
    from streamsql.web.origins import allowed_host

    plain = ServerConfig()
    host, port = listen_address(args.listen) if args.listen else (plain.host, plain.port)
    if bool(args.tls_cert) != bool(args.tls_key):
        raise ConfigError("--tls-cert and --tls-key go together")
    return ServerConfig(
        host=host,
        port=port,
        service_id=args.service_id or plain.service_id,
        advertised_url=args.advertised_url,
        tls_cert=_file(args.tls_cert, "--tls-cert"),
        tls_key=_file(args.tls_key, "--tls-key"),
        tls_client_ca=_file(args.tls_client_ca, "--tls-client-ca"),
        users_file=_file(args.users_file, "--users-file"),
        scripts=_folder(args.scripts, "--scripts"),
        allowed_hosts=tuple(map(allowed_host, _listed(args.allowed_host))),
        trusted_proxies=tuple(map(trusted_proxy, _listed(args.trusted_proxy))),
        cors_origins=_cors_origins(args),
        max_requests_per_second=_rate(args.max_requests_per_second),
        access_log=args.access_log,
        max_push_queries=_count(args.max_push_queries, plain.max_push_queries),
        max_request_bytes=_count(args.max_request_bytes, plain.max_request_bytes),
        max_statement_bytes=_count(args.max_statement_bytes, plain.max_statement_bytes),
    )


def engine_config(args: argparse.Namespace, file: ConfigFile, server: ServerConfig) -> EngineConfig:
    """The server's engine. With a Kafka cluster, its statements are in Kafka; with an embedded
    broker, in the data folder, which the shell can also use."""
    from streamsql.engine import EngineConfig

    servers, kafka = kafka_of(args)
    service_id = args.service_id or (LONE_SERVICE if servers else None)
    return EngineConfig(
        data_dir=Path(args.data).expanduser() if args.data else None,
        bootstrap_servers=servers,
        kafka=kafka or file.kafka,
        master=args.master,
        spark=spark_of(args),
        properties={**file.properties, **properties_of(args)},
        debug=args.debug,
        serve_tables=True,
        warm_up=True,
        service_id=service_id,
        advertised_url=server.url,
        interactive=not args.queries_file,
        checkpoints=args.checkpoints or None,
    )


def _file(name: str | None, option: str) -> Path | None:
    if name is None:
        return None
    path = Path(name).expanduser()
    if not path.is_file():
        raise ConfigError(f"{option}: file {name} does not exist")
    return path


def _folder(name: str | None, option: str) -> Path | None:
    if name is None:
        return None
    path = Path(name).expanduser()
    if not path.is_dir():
        raise ConfigError(f"{option}: folder {name} does not exist")
    return path


def _count(given: object, default: int) -> int:
    if given is None:
        return default
    text = str(given).replace("_", "")
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{given} is not a number of 1 or more")
    return int(text)


def _listed(given: str | list[str] | None) -> list[str]:
    """Of an option that may be repeated, or of a file's property with commas."""
    return given.replace(",", " ").split() if isinstance(given, str) else given or []


def _cors_origins(args: argparse.Namespace) -> tuple[str, ...]:
    from streamsql.web.origins import ANY, trusted_origin

    found = tuple(map(trusted_origin, _listed(args.cors_origin)))
    if ANY in found and args.users_file is None:
        raise ConfigError(
            f"--cors-origin {ANY} without --users-file: every web page could run code here",
            hint="Name the origins, such as https://app.example.org, or give the server users.",
        )
    return found


def _rate(given: object) -> float | None:
    if given is None:
        return None
    try:
        rate = float(str(given))
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise ConfigError(f"{given} is not a number above 0")
    return rate


def _warn_if_open(config: ServerConfig) -> None:
    """Statements can run code and delete data: who gives them to everybody should know."""
    here = ("127.0.0.1", "::1", "localhost")
    if config.users_file is None and config.host not in here:
        _log.warning("no --users-file: every client that reaches %s has full access", config.url)
    if config.users_file is not None and config.tls_cert is None and config.host not in here:
        _log.warning("no --tls-cert: passwords travel to %s in the clear", config.url)


def _listening(state: ServerState, url: str, began: float, postgres: str | None) -> None:
    """Printed while the engine starts: /info and /healthcheck already respond."""
    _say(f"Listening at {url}, starting ...")
    # A URL's fragment is not sent to servers, nor kept in the browser's history.
    token = "" if state.config.users_file else f"#token={state.sessions.token}"
    _say(f"Console: {url}/{token}")
    if postgres:
        _say("Clients of PostgreSQL: psql -h {} -p {}".format(*postgres_address(postgres)))

    def report() -> None:
        try:
            state.engine.wait_until_ready()
        except Exception:
            return  # The server ends with the same error.
        _say(f"Ready after {time.monotonic() - began:.1f} seconds")

    threading.Thread(target=report, name="report", daemon=True).start()


def _close(engine: Engine, seconds: float) -> None:
    """Stops the engine within the time limit; the rest is recovered as after a crash."""
    _say("Stopping")
    closing = threading.Thread(target=engine.close, name="close", daemon=True)
    closing.start()
    closing.join(seconds)
    if closing.is_alive():
        _say(
            f"Some queries did not stop within {seconds:.0f} seconds; they resume at the next start"
        )
        sys.stdout.flush()
        os._exit(0)


def _say(text: str) -> None:
    announce(text)
