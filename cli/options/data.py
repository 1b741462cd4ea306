"""The options of `streamsql load` and `streamsql datagen`."""

from __future__ import annotations

import argparse

_KEY_HELP = "key column(s), each COL or COL:TYPE (types: STRING, INT, BIGINT, DOUBLE)"


def add_load_options(parser: argparse.ArgumentParser) -> None:
    """Input of `load` and its conversion to records."""
    parser.add_argument(
        "file", metavar="FILE", help=".csv, .json(l), .parquet or .txt (also .gz, .zip); - is stdin"
    )
    parser.add_argument("--topic", required=True, help="created if it does not exist")
    parser.add_argument("--key", metavar="COL,..", help=_KEY_HELP)
    parser.add_argument("--key-format", type=str.upper, choices=("KAFKA", "JSON", "DELIMITED"))
    parser.add_argument("--timestamp", metavar="COL", help="column with the event time")
    parser.add_argument(
        "--timestamp-format",
        metavar="PATTERN",
        help="such as 'yyyy-MM-dd HH:mm:ss' (default: ISO 8601 or milliseconds)",
    )
    parser.add_argument("--format", type=str.upper, choices=("JSON", "DELIMITED"), default="JSON")
    parser.add_argument("--input-format", choices=("csv", "json", "parquet", "text"))
    parser.add_argument(
        "--partitions", type=positive, metavar="N", help="replicas partitions of a new topic"
    )
    parser.add_argument("--rate", type=positive, metavar="N", help="records a second")
    parser.add_argument("--limit", type=positive, metavar="N", help="records at most")


def add_datagen_options(parser: argparse.ArgumentParser) -> None:
    """Kind, number and rate of generated records."""
    parser.add_argument(
        "--schema", required=True, choices=("users", "pageviews", "orders", "nexmark")
    )
    parser.add_argument(
        "--topic", help="default: the schema's name; of nexmark's three topics their names' begin"
    )
    parser.add_argument("--rate", type=positive, default=10, metavar="N", help="records a second")
    parser.add_argument("--count", type=positive, metavar="N", help="default: until Ctrl-C")
    parser.add_argument("--seed", type=int, metavar="N", help="the same records every time")
    parser.add_argument(
        "--start",
        type=positive,
        metavar="MS",
        help="the first event's time; the others follow at the rate, however fast they are written",
    )
    parser.add_argument(
        "--partitions", type=positive, metavar="N", help="replicas partitions of a new topic"
    )


def positive(text: str) -> int:
    """The type of a number above 0, in which `_` may stand."""
    try:
        number = int(text.replace("_", ""))
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number
