"""The syntax tree of a statement: frozen dataclasses for statements, sqlglot nodes for expressions.

Names are already folded: an unquoted identifier in upper case, a quoted one as written. Expressions
use sqlglot's vocabulary in a fixed way, which the parser builds, the generator prints and the
planner types:

| SQL | node |
|---|---|
| `a`, `s.a` | `Column(this=Identifier(quoted=True), table=Identifier or None)` |
| `1`, `1.5`, `1e3` | `Literal.number(text)` |
| `'x'`, `TRUE`, `NULL` | `Literal.string`, `Boolean`, `Null` |
| `+ - * / %`, unary `-`, `||` | `Add Sub Mul Div Mod`, `Neg`, `DPipe` |
| `= <> < <= > >=` | `EQ NEQ LT LTE GT GTE` |
| `IS [NOT] DISTINCT FROM` | `NullSafeNEQ`, `NullSafeEQ` |
| `AND OR NOT`, `IS [NOT] NULL` | `And Or Not`, `Is(this, Null)`, `Not(Is)` |
| `BETWEEN`, `IN (..)` | `Between`, `In(expressions)` |
| `IN (SELECT ..)`, `EXISTS (..)` | `In(query=Query)`, `Exists(this=Query)` |
| `(SELECT ..)`, `ARRAY(SELECT ..)` | `Subquery(this=Query)`, `Array(query=Query)` |
| `< ANY (SELECT ..)`, `< ALL (array)` | `LT(this, Any(this=Query))`, `LT(this, All(this=array))` |
| `(a, b)`, `ROW(a, b)` | `Tuple(expressions)` |
| `^ & | #` | `Pow BitwiseAnd BitwiseOr BitwiseXor` |
| `<< >>`, unary `~` | `BitwiseLeftShift BitwiseRightShift`, `BitwiseNot` |
| `f(..) OVER (..)` | `Window(this=Anonymous, partition_by=[..], order=Order, spec, grace)` |
| `ROWS BETWEEN a AND b` | `WindowSpec(kind, start, start_side, end, end_side)` |
| `ROWS .. EXCLUDE TIES` | `WindowSpec(.., exclude="TIES")` |
| `ORDER BY e DESC` | `Order(expressions=[Ordered(this, desc=True)])` |
| `[I]LIKE .. ESCAPE c` | `Like`, `ILike`, `Escape(Like, Literal)` |
| `SIMILAR TO`, `~`, `~*` | `SimilarTo`, `RegexpLike`, `RegexpILike` |
| `CASE` | `Case(this or None, ifs=[If(this, true)], default)` |
| `CAST(e AS t)`, `e::t`, `DATE 't'` | `Cast(this, to=DataType)` |
| `f(..)`, `COUNT(*)` | `Anonymous(this="F", expressions)`; `Star` as the argument |
| `f(DISTINCT e)` | `Anonymous(this="F", expressions=[Distinct(expressions=[e])])` |
| `f(e ORDER BY o)` | `Anonymous(this="F", expressions=[e, Order(expressions=[Ordered])])` |
| `f(e) WITHIN GROUP (ORDER BY o)` | `WithinGroup(this=Anonymous, expression=Order)` |
| `f(..) FILTER (WHERE c)` | `Filter(this=Anonymous, expression=c)` |
| `EXTRACT(f FROM e)` | `Extract(this=Var(f), expression=e)` |
| `INTERVAL 't' DAY` | `Interval(this=Literal, unit=Var or None)` |
| `s->f` | `Dot(this, expression=Identifier)` |
| `a[i]`, `a[i:j]` | `Bracket(this, expressions=[i])`, with `Slice(this=i, expression=j)` |
| `ARRAY[..]`, `MAP(k:=v)` | `Array(expressions)`, `Map(keys=Array, values=Array)` |
| `STRUCT(f:=v)` | `Struct(expressions=[PropertyEQ(this=Identifier, expression)])` |
| `x => e`, `(x, y) => e` | `Lambda(this=e, expressions=[Identifier])` |
| `SECONDS` as an argument | `Var(this="SECONDS")` |
| `e AT TIME ZONE z` | `AtTimeZone(this, zone)` |

Parentheses leave no node, nor do named windows (each OVER holds what its name stands for).
BETWEEN SYMMETRIC, POSITION(a IN b), TRIM(BOTH a FROM b) and OVERLAY(..) are what they abbreviate.
`node.meta` holds the place: `line`, `column`, `start`, `end`.
"""

from streamsql.nodes.base import *
from streamsql.nodes.changing import *
from streamsql.nodes.definition import *
from streamsql.nodes.match import *
from streamsql.nodes.query import *
from streamsql.nodes.statement import *
