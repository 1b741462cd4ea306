"""`streamsql load` and `streamsql datagen`: options to specifications, progress, a summary."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from streamsql.cli.execution.engine import kafka_of
from streamsql.cli.terminal.progress import Bar
from streamsql.cli.terminal.style import Style

if TYPE_CHECKING:
    from streamsql.api.loading import Fetched, KafkaClient, Summary


def load_command(args: argparse.Namespace) -> int:
    from streamsql.api.loading import KeyColumn, LoadSpec, Progress, load

    key = tuple(KeyColumn.parse(text) for text in args.key.split(",")) if args.key else ()
    spec = LoadSpec(
        source=args.file,
        topic=args.topic,
        input_format=args.input_format,
        key=key,
        key_format=args.key_format,
        timestamp=args.timestamp,
        timestamp_format=args.timestamp_format,
        format=args.format,
        partitions=args.partitions,
        rate=args.rate,
        limit=args.limit,
    )
    spec.resolved_input_format()
    spec.check_readable()
    with _client(args) as client, Bar(f"Loading {spec.name}", "records") as bar:

        def show(progress: Progress) -> None:
            bar.update(progress.records, progress.fraction)

        summary = load(spec, client, show)
    _report(summary, args.topic)
    keys = {column.name.casefold(): column.type for column in key}
    key_format = spec.resolved_key_format() if key else None
    _suggest(summary.columns, args.topic, spec.format, keys, key_format)
    return 0


def datagen_command(args: argparse.Namespace) -> int:
    """Write made-up records until there are enough, or until Ctrl-C."""
    from streamsql.api.loading import NEXMARK, GenerateSpec, Progress, generate, generate_nexmark

    topic = args.topic or args.schema
    spec = GenerateSpec(
        args.schema, topic, args.rate, args.count, args.seed, args.start, args.partitions
    )
    run = generate_nexmark if args.schema == NEXMARK else generate
    written = 0
    with _client(args) as client:
        _suggest_generated(args.schema, topic)
        with Bar(f"Writing {args.schema} to {topic}", "records") as bar:

            def show(progress: Progress) -> None:
                nonlocal written
                written = progress.records
                bar.update(progress.records, progress.fraction)

            try:
                _report(run(spec, client, show), topic)
            except KeyboardInterrupt:
                print(f"{written:,} records written to {topic}", file=sys.stderr)
    return 0


def _client(args: argparse.Namespace) -> AbstractContextManager[KafkaClient]:
    """A client of the chosen cluster, or of the embedded broker, started if need be."""
    from streamsql.api.loading import cluster
    from streamsql.data_folder import DataDir

    return cluster(*kafka_of(args), DataDir.at(args.data), _starting)


def _suggest_generated(schema: str, topic: str) -> None:
    from streamsql.api.loading import NEXMARK, NEXMARK_COLUMNS, SCHEMAS

    if schema == NEXMARK:
        for kind, columns in NEXMARK_COLUMNS.items():
            _suggest(columns, f"{topic}-{kind}", "JSON", {}, None)
        return
    generator = SCHEMAS[schema]
    _suggest(generator.columns, topic, "JSON", {generator.key: "STRING"}, "KAFKA")


@contextmanager
def _starting() -> Iterator[Fetched]:
    with Bar("Starting Kafka", "files") as bar:
        yield lambda done, total, name: bar.update(done, done / total)


def _report(summary: Summary, topic: str) -> None:
    speed = summary.records / summary.seconds if summary.seconds > 0 else 0.0
    made = " (new topic)" if summary.created_topic else ""
    print(
        f"{summary.records:,} records in {summary.seconds:.1f} s ({speed:,.0f}/s) to {topic}{made}",
        file=sys.stderr,
    )
    if summary.skipped:
        print(f"{summary.skipped:,} rows left out: they have no timestamp", file=sys.stderr)


def _suggest(
    columns: Mapping[str, str],
    topic: str,
    value_format: str,
    keys: Mapping[str, str],
    key_format: str | None,
) -> None:
    """The statement that declares a stream over the loaded records."""
    style = Style.of(sys.stdout)
    print(style.dim("-- A stream over it:"))
    print(create_stream(columns, topic, value_format, keys, key_format))


def create_stream(
    columns: Mapping[str, str],
    topic: str,
    value_format: str,
    keys: Mapping[str, str],
    key_format: str | None,
) -> str:
    """CREATE STREAM for columns and their SQL types; `keys` maps folded names to types."""
    ordered = sorted(columns, key=lambda name: name.casefold() not in keys)
    lines = []
    for name in ordered:
        kind = keys.get(name.casefold())
        shown = f"{_identifier(name)} {kind or columns[name]}"
        lines.append(f"  {shown}{' KEY' if kind else ''}")
    formats = f"VALUE_FORMAT = '{value_format}'"
    if key_format not in (None, "KAFKA"):
        formats = f"KEY_FORMAT = '{key_format}', {formats}"
    body = ",\n".join(lines)
    return (
        f"CREATE STREAM {_identifier(topic)} (\n{body}\n"
        f") WITH (KAFKA_TOPIC = '{topic}', {formats});"
    )


def _identifier(name: str) -> str:
    from streamsql.api.language import RESERVED

    plain = name.isascii() and name.isidentifier() and name.upper() not in RESERVED
    return name.lower() if plain else f"`{name}`"
