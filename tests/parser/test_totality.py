"""Nothing is forgotten: each rule has a builder, each node its SQL, each word its place."""

from __future__ import annotations

import dataclasses
import inspect
from typing import get_type_hints

import pytest
from sqlglot import exp

from streamsql import nodes
from streamsql.errors import InternalError
from streamsql.parser import RESERVED, parse, to_sql
from streamsql.parser.build.context import FOLLOWED_BY
from streamsql.parser.generate.expressions import EXPRESSIONS
from streamsql.parser.loader import load
from streamsql.parser.script import BUILDERS
from streamsql.parser.tokens.grammar import words
from streamsql.parser.tokens.keywords import BARE_NAMES, BY_CONTEXT, NAMES, NON_RESERVED
from streamsql.parser.tokens.lexer import SYMBOLS

LARK = load(BUILDERS)

# Rules whose alternatives have names of their own, or that only pass their one child on.
PASSED_ON = {"statement", "relation", "number", "select_item", "show_what", "window_type"}
PASSED_ON |= {"argument", "conjunction", "disjunction", "expression", "literal", "negation"}
PASSED_ON |= {"predicate", "primary", "product", "property_value", "sum", "type", "unary"}
PASSED_ON |= {
    "any_query",
    "application",
    "column_option",
    "function_argument",
    "grouped",
    "matchable",
    "pattern_element",
    "pattern_length",
    "side",
    "source_column",
    "value",
    "zoned",
}


def rule_names() -> set[str]:
    names = {str(rule.alias or rule.origin.name) for rule in LARK.rules}
    return {n.removeprefix("expressions__") for n in names if not n.startswith("_")}


def statement_classes() -> list[type]:
    return [
        c
        for _, c in inspect.getmembers(nodes, inspect.isclass)
        if issubclass(c, nodes.Statement) and c is not nodes.Statement
    ]


@pytest.mark.parametrize("rule", sorted(rule_names() - PASSED_ON))
def test_every_rule_has_a_builder(rule: str) -> None:
    builder = getattr(BUILDERS, rule, None)
    assert callable(builder), f"write a method `{rule}` in parser/build/statements.py or beside it"


@pytest.mark.parametrize("rule", sorted(PASSED_ON))
def test_rules_without_builder_only_pass_their_child_on(rule: str) -> None:
    own = [
        r
        for r in LARK.rules
        if str(r.origin.name).removeprefix("expressions__") == rule and not r.alias
    ]
    assert all(len(r.expansion) == 1 and r.options.expand1 for r in own)


@pytest.mark.parametrize("node", statement_classes(), ids=lambda c: c.__name__)
def test_every_statement_can_be_written(node: type) -> None:
    builders = (BUILDERS.method_of(rule) for rule in rule_names() - PASSED_ON)
    built = {get_type_hints(method).get("return") for method in builders if method is not None}
    assert node in built, (
        f"no rule makes a {node.__name__}: write it in grammar/streamsql.lark, name it in "
        "`statement` there, and have its method in parser/build say what it returns"
    )


@pytest.mark.parametrize("node", statement_classes(), ids=lambda c: c.__name__)
def test_every_statement_has_sql(node: type) -> None:
    has_sql = node in to_sql.registry
    assert has_sql, f"print {node.__name__} in parser/generate/statements.py, by @to_sql.register"


def test_every_part_of_a_query_has_sql() -> None:
    parts: tuple[type, ...] = (nodes.SelectExpression, nodes.SelectAll, nodes.SelectStruct)
    parts += (nodes.CommonTable, nodes.StartPosition, nodes.Subquery)
    parts += (nodes.SourceRef, nodes.Join, nodes.Within, nodes.Window, nodes.Duration)
    for part in (*parts, nodes.Query, nodes.ColumnDefinition):
        assert dataclasses.is_dataclass(part)
        assert part in to_sql.registry


def test_every_expression_of_the_node_table_has_sql() -> None:
    table = inspect.getdoc(nodes) or ""
    mentioned = {
        word.strip("`(),|").split("(")[0]
        for line in table.splitlines()
        if line.startswith("|") and "---" not in line
        for word in line.rstrip("|").rpartition(" | ")[2].replace("(", " (").split()
    }
    classes = {getattr(exp, word) for word in mentioned if isinstance(getattr(exp, word, 0), type)}
    parts_of_others = {exp.Identifier, exp.If, exp.PropertyEQ, exp.Escape, exp.DataType}
    assert len(classes) > 30
    assert classes - parts_of_others <= EXPRESSIONS.keys()


def test_what_has_no_sql_is_a_bug() -> None:
    with pytest.raises(InternalError):
        to_sql(exp.Introducer())
    with pytest.raises(InternalError):
        to_sql(3)


def test_words_of_the_grammar_are_keywords_and_names() -> None:
    """What the parser knows as a word is what was found in the grammar's text."""
    terminals = {str(t.name).removeprefix("expressions__") for t in LARK.terminals}
    others = {"IDENTIFIER", "LAMBDA_PAREN", "VERBOSE", *SYMBOLS.values()}
    in_rules = {t for t in terminals if t not in others and not t.endswith("_LITERAL")}
    assert in_rules == words()
    # Words that are only kept from being names.
    kept = "EXPORT LOAD NAMESPACE"
    assert RESERVED - in_rules == set(kept.split()), "parser/tokens/keywords.py: RESERVED"
    as_names = {
        str(rule.expansion[0].name) for rule in LARK.rules if str(rule.origin.name) == "word"
    }
    assert as_names == {"IDENTIFIER", *NAMES}


def test_words_with_special_rules_are_words() -> None:
    assert set(FOLLOWED_BY) == BY_CONTEXT, "parser/build/context.py says when they are words"
    assert BARE_NAMES <= NON_RESERVED, "parser/tokens/keywords.py: BARE_NAMES"


@pytest.mark.parametrize("word", sorted(NON_RESERVED))
def test_a_word_that_is_not_reserved_is_a_name(word: str) -> None:
    sql = f"CREATE TABLE x AS SELECT s.{word} AS {word}, COUNT(*) AS n FROM s GROUP BY s.{word};"
    (statement,) = parse(sql)
    assert parse(to_sql(statement) + ";") == [statement]
