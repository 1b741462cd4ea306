"""The command line's words: commands, options and their help. Imports nothing of the engine."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from streamsql.cli.options.data import add_datagen_options, add_load_options, positive
from streamsql.cli.options.files import add_file_options
from streamsql.cli.options.server import add_server_options
from streamsql.cli.options.sizes import add_size_options, sizes_of
from streamsql.cli.options.user import add_user_options
from streamsql.errors import ConfigError

EPILOG = """\
examples:
  streamsql                                    the shell
  streamsql -e "SHOW STREAMS;"                 a statement
  streamsql run pipeline.sql                   run a file's queries until Ctrl-C
  streamsql check pipeline.sql                 find its errors without running it
  streamsql plan pipelines/                    compare files with the running pipeline
  streamsql apply pipelines/                   apply the changes, preserving state
  streamsql test tests/                        run the tests of pipelines
  streamsql load trips.csv --topic trips       load a file into a topic
  streamsql server                             a server, and
  streamsql connect http://localhost:8088      the shell over a server
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="streamsql",
        description="SQL over streams: continuous queries on Kafka. Without a command: the shell.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.add_argument(
        "-e", "--execute", metavar="SQL", action="append", help="run the statements and exit"
    )
    parser.add_argument(
        "--postgres",
        metavar="PORT",
        help="in the shell: port for PostgreSQL clients on localhost (default: none)",
    )
    add_size_options(parser, None)
    _common(parser, top=True)
    parser.set_defaults(handler="shell.shell:command", command=None)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    _run(commands)
    _check(commands)
    _plan(commands)
    _apply(commands)
    _verify(commands)
    _kafka(commands)
    _connectors(commands)
    _load(commands)
    _datagen(commands)
    _test(commands)
    _connect(commands)
    _server(commands)
    _user(commands)
    _catalog(commands)
    return parser


Commands = argparse._SubParsersAction  # its only name


def _common(parser: argparse.ArgumentParser, *, top: bool = False, remote: bool = False) -> None:
    """Options of every command; they may stand before or after the command's name. Those of the
    engine make no sense where it is `remote`."""
    group = parser.add_argument_group("common options")

    def add(*names: str, default: object = None, **settings: object) -> None:
        chosen = default if top else argparse.SUPPRESS
        group.add_argument(*names, default=chosen, **settings)  # type: ignore[arg-type]

    if not remote:
        _engine(add)
    add(
        "-d",
        "--define",
        metavar="NAME=VALUE",
        action="append",
        help="a variable for ${NAME} in statements; may be repeated",
    )
    add(
        "--property",
        metavar="NAME=VALUE",
        action="append",
        help="a property, as SET does; may be repeated",
    )
    add("--output", choices=("table", "json", "csv"), help="how results are shown")
    add(
        "--debug",
        action="store_true",
        default=False,
        help="show where an error comes from, and at the start the sizes of the engine",
    )


def _engine(add: Callable[..., None]) -> None:
    add("--data", metavar="DIR", help="the data folder: statements, state, embedded Kafka")
    add(
        "--bootstrap-servers",
        metavar="HOST:PORT,..",
        help="a Kafka cluster (default: an embedded broker)",
    )
    add(
        "--kafka-config",
        metavar="FILE",
        help="how to log in there: security.protocol, sasl.*, ssl.* as Kafka's own tools take them",
    )
    add(
        "--schema-registry",
        metavar="URL",
        help="of AVRO, PROTOBUF and JSON_SR (default: an embedded one)",
    )
    add("--master", metavar="URL", help="Spark's master (default: local)")
    add("--spark-config", metavar="FILE", help="settings of Spark's, of its executors above all")


def _add(
    commands: Commands[argparse.ArgumentParser], name: str, help: str, handler: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
    parser.set_defaults(handler=handler)
    return parser


def _run(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "run",
        "Run the statements of files and keep their queries running until Ctrl-C.",
        "subcommands.run:run_files",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="a .sql file; - is standard input")
    parser.add_argument(
        "--until-caught-up",
        action="store_true",
        help="end when everything that was in the topics at the start has been processed",
    )
    add_size_options(parser, argparse.SUPPRESS)
    _common(parser)


def _check(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "check",
        "Parse and plan the statements of files, and report all errors. Runs nothing.",
        "subcommands.check:command",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="a .sql file; - is standard input")
    _common(parser)


def _plan(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "plan",
        "Compare files with the running pipeline, and show the changes. Runs nothing.",
        "subcommands.plan:command",
    )
    add_file_options(parser)
    parser.add_argument("--json", action="store_true", help="for programs: one JSON object")
    _server_of(parser)
    _common(parser)


def _apply(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "apply",
        "Apply the changes of files atomically, preserving state.",
        "subcommands.apply:command",
    )
    add_file_options(parser, needed=False)
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--undo", action="store_true", help="undo the last apply")
    instead.add_argument(
        "--stage",
        action="store_true",
        help="with --server: rebuild the changed queries without switching to them",
    )
    instead.add_argument("--promote", action="store_true", help="switch to the staged change")
    instead.add_argument("--discard", action="store_true", help="discard the staged change")
    parser.add_argument(
        "--from-what-is-left",
        action="store_true",
        help="rebuild queries even if the log lacks records that they had read",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    _server_of(parser)
    _common(parser)


def _verify(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "verify",
        "Compare the output of queries with a batch over the log. No query runs meanwhile.",
        "subcommands.verify:command",
    )
    parser.add_argument(
        "queries",
        metavar="QUERY|PATH",
        nargs="*",
        help="a query id, or a .sql file or a folder for the queries in it; default: all queries",
    )
    _common(parser)


def _server_of(parser: argparse.ArgumentParser) -> None:
    """Which server is meant, where it is not the data folder's engine."""
    parser.add_argument("--server", metavar="URL", help="a server, instead of the data folder")
    _login(parser)


def _kafka(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "kafka",
        "The embedded Kafka broker of the data folder; the transactions of any cluster.",
        "subcommands.kafka:command",
    )
    actions: Commands[argparse.ArgumentParser] = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION"
    )
    for name in ("start", "stop", "status"):
        _common(actions.add_parser(name, help=f"{name} the broker", allow_abbrev=False))
    transactions = actions.add_parser(
        "transactions",
        help="list the transactions of all ids, or abort those of some",
        allow_abbrev=False,
    )
    transactions.add_argument("what", choices=("list", "abort"))
    transactions.add_argument("ids", metavar="ID", nargs="*", help="transactional ids, to abort")
    _common(transactions)
    _common(parser)


def _connectors(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "connectors",
        "Plugins of the embedded Kafka Connect worker.",
        "subcommands.connectors:command",
    )
    actions: Commands[argparse.ArgumentParser] = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION"
    )
    install = actions.add_parser("install", help="install or replace a plugin", allow_abbrev=False)
    install.add_argument(
        "origin",
        metavar="ORIGIN",
        help="Maven coordinates GROUP:ARTIFACT:VERSION, a folder with jars, or a jar",
    )
    remove = actions.add_parser("remove", help="remove a plugin", allow_abbrev=False)
    remove.add_argument("name", metavar="NAME")
    for action in (install, remove, actions.add_parser("list", help="list the plugins")):
        _common(action)
    _common(parser)


def _load(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "load", "Load a file into a topic.", "subcommands.data:load_command")
    add_load_options(parser)
    _common(parser)


def _datagen(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "datagen",
        "Write made-up records into a topic.",
        "subcommands.data:datagen_command",
    )
    add_datagen_options(parser)
    _common(parser)


def _test(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "test",
        "Run tests of pipelines: their statements on a real broker and Spark, over given records.",
        "subcommands.test:command",
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="a .json file of tests, a .sql file with .inputs.json and .outputs.json or "
        "with --@test: name and ASSERT VALUES, or a folder",
    )
    parser.add_argument("-k", dest="keep", metavar="SUBSTRING", help="only tests with it in the id")
    parser.add_argument(
        "--compare",
        choices=("final", "exact"),
        default="final",
        help="final: of a table's key the last record counts; exact: every record, in order",
    )
    parser.add_argument("--report", metavar="FILE", help="write the results there, as JSON lines")
    parser.add_argument("--junit", metavar="FILE", help="write the results there, as JUnit XML")
    parser.add_argument("--jobs", type=positive, default=4, metavar="N", help="tests at a time")
    parser.add_argument("-v", "--verbose", action="store_true", help="show passed tests too")
    _common(parser)


def _connect(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "connect",
        "The shell over a server, wherever that runs.",
        "subcommands.connect:command",
    )
    parser.add_argument("url", metavar="URL", help="such as http://localhost:8088")
    # Not `execute`: that is for an engine of this process.
    parser.add_argument(
        *("-e", "--execute"),
        dest="statements",
        metavar="SQL",
        action="append",
        help="run the statements and exit; may be repeated",
    )
    parser.add_argument(
        *("-f", "--file"),
        dest="files",
        metavar="FILE",
        action="append",
        help="run the statements of a .sql file and exit; - is standard input",
    )
    _login(parser)
    _common(parser, remote=True)


def _login(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-u", "--user", metavar="NAME", help="user name; the password is asked for")
    parser.add_argument("-p", "--password", metavar="PASSWORD", help="of the user")
    parser.add_argument(
        "--password-file", metavar="FILE", help="a file with the password in its first line"
    )
    parser.add_argument("--ca-file", metavar="FILE", help="certificates to trust, for https")


def _server(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "server",
        "Serve ksqlDB's REST API, shells and clients over HTTP until Ctrl-C.",
        "subcommands.server:command",
    )
    add_server_options(parser)
    add_size_options(parser, argparse.SUPPRESS)
    _common(parser)


def _catalog(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(
        commands,
        "catalog",
        "Export all streams, tables, views, types, functions and queries as a .sql file, or import "
        "one.",
        "subcommands.catalog:command",
    )
    parser.add_argument("action", choices=("export", "import"))
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="export: default is standard output; - is stdin"
    )
    parser.add_argument(
        "--service-id", metavar="ID", help="of servers that store their statements in Kafka"
    )
    _common(parser)


def _user(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _add(commands, "user", "The users of a server.", "subcommands.user:command")
    add_user_options(parser)
    _common(parser, remote=True)


def properties_of(args: argparse.Namespace) -> dict[str, str]:
    """The properties of the options; ConfigError for an invalid assignment."""
    properties = assignments(args.property, "--property") | sizes_of(args)
    if args.schema_registry:
        properties["ksql.schema.registry.url"] = args.schema_registry
    return properties


def assignments(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """`NAME=VALUE` options as a dictionary; ConfigError for one without `=`."""
    pairs = {}
    for text in given or ():
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise ConfigError(f"{option} {text}: expected NAME=VALUE")
        pairs[name.strip()] = value
    return pairs
