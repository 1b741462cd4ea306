"""Keywords of the grammar, and those that can also be names. New words of the grammar can be names
unless they are listed here, so existing names remain valid."""

from __future__ import annotations

from streamsql.parser.tokens.grammar import words

RESERVED: frozenset[str] = frozenset(
    """
    ALL AND AS BEGINNING BETWEEN BY CASE CAST CONNECTOR CONNECTORS CREATE DAYS DECIMAL
    DELETE DESCRIBE DISTINCT DROP ELSE EXISTS EXPORT EXTENDED FALSE FROM FULL GROUP HAVING HOURS IN
    INNER INSERT INTO IS JOIN LEFT LIKE LIST LOAD MATERIALIZED MILLISECOND MILLISECONDS MINUTES
    MONTHS NAMESPACE NOT NULL ON OR OUTER PAUSE PRINT PROPERTIES QUERIES RENAME RESUME RETENTION
    RIGHT RUN SAMPLE SCRIPT SECONDS SELECT STREAMS TERMINATE THEN TO TOPICS TRUE UNSET VIEW
    WHEN WHERE WITH WITHIN YEARS
    """.split()
)
"""Keywords that are names only between backticks; some of them stand in no rule."""

BY_CONTEXT: frozenset[str] = frozenset(
    """
    AT COLLATE CONSTRAINT EMIT END ESCAPE EXCEPT EXTRACT FETCH FILTER ILIKE INTERSECT LIMIT
    MATCH_RECOGNIZE OFFSET ORDER OVER PARTITION PATTERN QUALIFY SIMILAR UNION USING WINDOW
    """.split()
)
"""Keywords that come to the parser as names where their neighbours make them names."""

NON_RESERVED: frozenset[str] = words() - RESERVED
"""Keywords that may also be names without quotes."""

NAMES: frozenset[str] = NON_RESERVED - BY_CONTEXT
"""Words accepted as names; the rule `word` consists of them."""

KEYWORDS: frozenset[str] = NON_RESERVED | RESERVED | {"VERBOSE"}
"""All words that mean something to the parser (VERBOSE only after EXPLAIN)."""

BARE_NAMES: frozenset[str] = frozenset(
    """
    ADD AFTER AGGREGATE ASC CASCADE CHANGES CURRENT DAY DESC EXPECT EXTRACT FAIL FILTER FINAL
    FOLLOWING FOR FUNCTIONS GROUPS HEADER HEADERS HOUR ID KEY LANGUAGE LATEST LINEAGE MATCH
    MEASURES MINUTE MONTH OF OFFSETS ONE ORDER OVER PAST PATTERN PER PERIOD PLUGINS PRECEDING
    PRIMARY PYTHON QUERY RANGE REPLACE RETURNS ROW ROWS SECOND SKIP STRING SUBJECT SUBSET SYSTEM
    TIME TIMEOUT TIMESTAMP TYPE TYPES UNBOUNDED UNKNOWN VARIABLES VIEWS VIOLATION YEAR ZONE
    """.split()
)
"""Keywords that the generator prints bare as names: no clause or statement begins with them. The
others it puts between backticks, which is always right."""
