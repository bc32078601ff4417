"""Each construct of the language, from text to tree."""

import subprocess
import sys

import pytest

from greta.errors import Span
from greta.lang.nodes import (
    Aggregate,
    And,
    Arithmetic,
    Atom,
    Attribute,
    Boolean,
    Call,
    Comparison,
    Conjunction,
    Disjunction,
    Duration,
    Equivalence,
    EquivalenceAttribute,
    Expression,
    GroupAttribute,
    Maybe,
    Name,
    Negation,
    Negative,
    Not,
    Number,
    Or,
    Pattern,
    Plus,
    Query,
    Repeat,
    ReturnAttribute,
    ReturnValue,
    Semantics,
    Seq,
    Star,
    Text,
    TrendAggregate,
    TrendFunction,
    ValuePart,
    Within,
)
from greta.lang.parser import parse

A, B, C = Atom("A", "A"), Atom("B", "B"), Atom("C", "C")
X, Y, Z = Attribute("A", "x"), Attribute("A", "y"), Attribute("A", "z")


def pattern(text: str) -> Pattern:
    return parse(f"RETURN COUNT(*) PATTERN {text}").pattern


def where(text: str) -> tuple[Equivalence | Expression, ...]:
    return parse(f"RETURN COUNT(*) PATTERN A WHERE {text}").where


def having(text: str) -> Expression | None:
    return parse(f"RETURN COUNT(*) PATTERN A HAVING {text}").having


def within(text: str) -> Within | None:
    return parse(f"RETURN COUNT(*) PATTERN A {text}").window


def test_a_query_with_every_clause_becomes_a_tree_with_every_field() -> None:
    text = """
        RETURN sector, COUNT(*) AS trends, AVG(S.price)
        PATTERN Stock S+
        SEMANTICS skip-till-next-match                -- optional
        MIN LENGTH 2
        WHERE [company, sector] AND S.price > NEXT(S).price
        GROUP-BY sector
        HAVING COUNT(*) > 1000
        WITHIN 10 minutes SLIDE 10 seconds"""
    query = parse(text)
    assert query == Query(
        returns=(
            ReturnAttribute("sector"),
            ReturnValue(Aggregate("COUNT"), "trends"),
            ReturnValue(Aggregate("AVG", "S", "price"), "avg_S_price"),
        ),
        pattern=Plus(Atom("Stock", "S")),
        semantics=Semantics.NEXT,
        min_length=2,
        where=(
            Equivalence((EquivalenceAttribute(None, "company"), EquivalenceAttribute(None, "sector"))),
            Comparison(">", Attribute("S", "price"), Attribute("S", "price", next=True)),
        ),
        group_by=(GroupAttribute("sector"),),
        having=Comparison(">", Aggregate("COUNT"), Number(1000)),
        window=Within(Duration(600_000), Duration(10_000)),
    )
    assert query.text == text


def test_clauses_left_out_take_their_defaults() -> None:
    query = parse("RETURN COUNT(*) PATTERN A")
    assert query == Query((ReturnValue(Aggregate("COUNT"), "count"),), A)
    assert (query.semantics, query.min_length, query.window) == (Semantics.ANY, 1, None)


def test_optional_clauses_may_come_in_any_order() -> None:
    usual = "RETURN g, COUNT(*) PATTERN A MIN LENGTH 2 WHERE A.x > 1 GROUP-BY g WITHIN 9 s SLIDE 3 s"
    mixed = "RETURN g, COUNT(*) PATTERN A SLIDE 3 s GROUP-BY g WITHIN 9 s WHERE A.x > 1 MIN LENGTH 2"
    assert parse(mixed) == parse(usual)


def test_keywords_may_be_in_any_case_and_names_keep_theirs() -> None:
    lower = "return Count(*) pattern seq(A, not B) Semantics CONTIGUOUS min length 2 group by g within 1 Day"
    assert parse(lower) == parse(lower.upper().replace("GROUP BY G", "GROUP-BY g"))


@pytest.mark.parametrize("spelling", ["GROUP-BY", "GROUP BY", "group-by", "Group\n By", "GROUP - BY"])
def test_group_by_is_written_with_a_hyphen_or_a_space(spelling: str) -> None:
    query = parse(f"RETURN COUNT(*) PATTERN A {spelling} x, y")
    assert query.group_by == (GroupAttribute("x"), GroupAttribute("y"))


def test_comments_run_to_the_end_of_their_line() -> None:
    assert parse("-- first\nRETURN COUNT(*) -- PATTERN B\nPATTERN A--last") == parse("RETURN COUNT(*) PATTERN A")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A", A),
        ("Stock S", Atom("Stock", "S")),
        ("Stock S+", Plus(Atom("Stock", "S"))),
        ("A+", Plus(A)),
        ("A*", Star(A)),
        ("A?", Maybe(A)),
        ("A{2}", Repeat(A, 2, 2)),
        ("A{2,}", Repeat(A, 2, None)),
        ("A{2,3}", Repeat(A, 2, 3)),
        ("A{0,2}", Repeat(A, 0, 2)),
        ("A{0,}", Repeat(A, 0, None)),
        ("(A+)?", Maybe(Plus(A))),
        ("A+?", Maybe(Plus(A))),
        ("((A))", A),
        ("SEQ(A)", Seq((A,))),
        ("SEQ(A, B+, C)", Seq((A, Plus(B), C))),
        ("SEQ(A, SEQ(B, C))", Seq((A, Seq((B, C))))),
        ("SEQ(A, NOT B, C)", Seq((A, Negation(B), C))),
        ("SEQ(A, B)+", Plus(Seq((A, B)))),
        ("NOT A+", Negation(Plus(A))),
        ("(NOT A)+", Plus(Negation(A))),
        ("NOT A OR B", Disjunction((Negation(A), B))),
        ("NOT (A OR B)", Negation(Disjunction((A, B)))),
        ("A OR B+ OR C", Disjunction((A, Plus(B), C))),
        ("A OR (B OR C)", Disjunction((A, B, C))),
        ("(A OR B)+", Plus(Disjunction((A, B)))),
        ("A OR B AND C", Conjunction(Disjunction((A, B)), C)),
        ("A AND B AND C", Conjunction(Conjunction(A, B), C)),
        ("A AND (B AND C)", Conjunction(A, Conjunction(B, C))),
        ("SEQ(A OR B, A AND C)", Seq((Disjunction((A, B)), Conjunction(A, C)))),
    ],
)
def test_a_pattern_becomes_its_tree(text: str, tree: Pattern) -> None:
    assert pattern(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A.x", X),
        ("NEXT(A).x", Attribute("A", "x", next=True)),
        ("A.payload.price", Attribute("A", "payload.price")),
        ('NEXT(A).payload."unit price".x', Attribute("A", "payload.unit price.x", next=True)),
        ("TRUE", Boolean(True)),
        ("false", Boolean(False)),
        ("'it''s'", Text("it's")),
        ("''", Text("")),
        ("'a\nb -- c'", Text("a\nb -- c")),
        ("A.x = 1", Comparison("=", X, Number(1))),
        ("A.x <> 1", Comparison("!=", X, Number(1))),
        ("A.x + A.y * A.z", Arithmetic("+", X, Arithmetic("*", Y, Z))),
        ("(A.x + A.y) * A.z", Arithmetic("*", Arithmetic("+", X, Y), Z)),
        ("A.x - A.y - A.z", Arithmetic("-", Arithmetic("-", X, Y), Z)),
        ("A.x - (A.y - A.z)", Arithmetic("-", X, Arithmetic("-", Y, Z))),
        ("A.x / A.y % A.z", Arithmetic("%", Arithmetic("/", X, Y), Z)),
        ("-A.x * A.y", Arithmetic("*", Negative(X), Y)),
        ("-(A.x * A.y)", Negative(Arithmetic("*", X, Y))),
        ("A.x - -1", Arithmetic("-", X, Number(-1))),
        ("-(-1)", Negative(Number(-1))),
        ("- -A.x", Negative(Negative(X))),
        ("NOT A.x = A.y", Not(Comparison("=", X, Y))),
        ("NOT A.x OR A.y", Or((Not(X), Y))),
        ("A.x OR A.y AND A.z", Or((X, And((Y, Z))))),
        ("A.x OR (A.y OR A.z)", Or((X, Y, Z))),
        ("NOT (A.x AND (A.y AND A.z))", Not(And((X, Y, Z)))),
        ("(A.x = A.y) = TRUE", Comparison("=", Comparison("=", X, Y), Boolean(True))),
    ],
)
def test_a_condition_becomes_its_tree(text: str, tree: Expression) -> None:
    assert where(text) == (tree,)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7), ("007", 7), ("7.0", 7.0), (".5", 0.5), ("1e3", 1000.0), ("1.5E-3", 0.0015), ("-7", -7),
        ("- 7", -7), ("-(7)", -7), ("1" * 100, int("1" * 100)), ("9007199254740993", 9007199254740993),
    ],
)  # fmt: skip
def test_a_number_keeps_its_value_and_its_type(text: str, value: float) -> None:
    (number,) = where(text)
    assert isinstance(number, Number)
    assert (number.value, type(number.value)) == (value, type(value))


@pytest.mark.parametrize("text", ["A.x AND A.y AND A.z", "(A.x AND A.y) AND A.z", "((A.x AND (A.y AND A.z)))"])
def test_the_conjuncts_of_where_are_one_flat_tuple(text: str) -> None:
    assert where(text) == (X, Y, Z)


def test_an_equivalence_lists_common_and_scoped_attributes() -> None:
    assert where("A.x AND ([g, P.vehicle])") == (
        X,
        Equivalence((EquivalenceAttribute(None, "g"), EquivalenceAttribute("P", "vehicle"))),
    )


@pytest.mark.parametrize(
    ("text", "aggregate", "name"),
    [
        ("COUNT(*)", Aggregate("COUNT"), "count"),
        ("COUNT(S)", Aggregate("COUNT", "S"), "count_S"),
        ("min(S.price)", Aggregate("MIN", "S", "price"), "min_S_price"),
        ("MAX(S.price)", Aggregate("MAX", "S", "price"), "max_S_price"),
        ("SUM(S.price) AS total", Aggregate("SUM", "S", "price"), "total"),
        ('AVG(S.count) AS "the mean"', Aggregate("AVG", "S", "count"), "the mean"),
    ],
)
def test_an_aggregate_has_the_name_it_is_given_or_one_of_its_own(text: str, aggregate: Aggregate, name: str) -> None:
    assert parse(f"RETURN {text} PATTERN Stock S+").returns == (ReturnValue(aggregate, name),)


def count(variable: str | None = None, *, negative: bool = False) -> ValuePart:
    return ValuePart("COUNT", variable, negative=negative)


def last(*, negative: bool = False) -> ValuePart:
    return ValuePart("LAST", "S", "x", negative)


@pytest.mark.parametrize(
    ("text", "function", "parts", "name"),
    [
        ("MAX(COUNT(*))", "MAX", (count(),), "max_count"),
        ("min(count(S))", "MIN", (count("S"),), "min_count_S"),
        ("STDDEV(DURATION(*))", "STDDEV", (ValuePart("DURATION"),), "stddev_duration"),
        ("SUM(MIN(S.x))", "SUM", (ValuePart("MIN", "S", "x"),), "sum_min_S_x"),
        ("AVG(COUNT(*) - LAST(S.x))", "AVG", (count(), last(negative=True)), "avg_count_minus_last_S_x"),
        ("AVG(-LAST(S.x) + COUNT(*))", "AVG", (last(negative=True), count()), "avg_minus_last_S_x_plus_count"),
        ("AVG(COUNT(*) - (LAST(S.x) - COUNT(S)))", "AVG", (count(), last(negative=True), count("S")), None),
        ("AVG(-(LAST(S.x) - -COUNT(S)))", "AVG", (last(negative=True), count("S", negative=True)), None),
        ("AVG((LAST(S.x)))", "AVG", (last(),), "avg_last_S_x"),
    ],
)
def test_a_value_of_a_trend_is_a_flat_sum_of_signed_parts(
    text: str, function: TrendFunction, parts: tuple[ValuePart, ...], name: str | None
) -> None:
    aggregate = TrendAggregate(function, parts)
    assert parse(f"RETURN {text} PATTERN Stock S+").returns == (ReturnValue(aggregate, name or aggregate.default_name),)


def test_a_function_s_name_is_a_plain_name_elsewhere() -> None:
    query = parse(
        "RETURN last, MAX(LAST.ln), MAX(LAST(LAST.first)) PATTERN Duration LAST+ WHERE LAST.abs > 1 GROUP-BY last"
    )
    assert [returned.name for returned in query.returns] == ["last", "max_LAST_ln", "max_last_LAST_first"]


def test_return_computes_from_aggregates() -> None:
    ratio = Arithmetic("/", Aggregate("COUNT", "S"), Aggregate("COUNT"))
    bits = Call("LOG2", Arithmetic("+", Aggregate("COUNT"), Number(1)))
    query = parse("RETURN COUNT(S) / COUNT(*) AS mean, -log2(COUNT(*) + 1) AS bits PATTERN Stock S+")
    assert query.returns == (ReturnValue(ratio, "mean"), ReturnValue(Negative(bits), "bits"))
    assert having("LOG2(COUNT(*) + 1) > 2") == Comparison(">", bits, Number(2))


def test_an_attribute_may_have_its_variable_in_return_and_group_by() -> None:
    query = parse("RETURN P.vehicle, COUNT(*) PATTERN P+ GROUP-BY P.vehicle, segment")
    assert query.returns[0] == ReturnAttribute("vehicle", "P")
    assert query.group_by == (GroupAttribute("vehicle", "P"), GroupAttribute("segment"))


def test_maximal_is_a_clause_and_a_name_elsewhere() -> None:
    assert parse("RETURN COUNT(*) PATTERN A+ MIN LENGTH 2 maximal SEMANTICS contiguous").maximal
    assert not parse('RETURN COUNT(*) PATTERN A "maximal"').maximal
    assert str(parse('RETURN COUNT(*) PATTERN A "maximal"')) == 'RETURN COUNT(*)\nPATTERN A "maximal"'


def test_having_speaks_of_aggregates_names_and_constants() -> None:
    assert having("COUNT(*) > 3 AND sector != 'x' OR count = 1") == Or(
        (
            And((Comparison(">", Aggregate("COUNT"), Number(3)), Comparison("!=", Name("sector"), Text("x")))),
            Comparison("=", Name("count"), Number(1)),
        )
    )


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1 ms", 1), ("2 milliseconds", 2), ("1 millisecond", 1), ("3 s", 3_000), ("3 sec", 3_000),
        ("1 second", 1_000), ("3 SECONDS", 3_000), ("10 min", 600_000), ("1 minute", 60_000),
        ("10m", 600_000), ("2 mins", 120_000), ("1 hr", 3_600_000), ("3 secs", 3_000),
        ("2h", 7_200_000), ("1 hour", 3_600_000), ("2 hours", 7_200_000), ("0.5 min", 30_000),
        ("1 d", 86_400_000), ("2 days", 172_800_000), ("1.5 seconds", 1_500), ("0.001 s", 1),
    ],
)  # fmt: skip
def test_a_duration_is_read_in_every_unit(text: str, milliseconds: int) -> None:
    assert within(f"WITHIN {text}") == Within(Duration(milliseconds), Duration(milliseconds))


def test_the_window_slides_by_its_length_unless_slide_says_otherwise() -> None:
    assert within("WITHIN 9 s") == within("WITHIN 9 s SLIDE 9 s")
    assert within("WITHIN 9 s SLIDE 3 s") == Within(Duration(9_000), Duration(3_000))


@pytest.mark.parametrize("semantics", Semantics)
def test_every_event_selection_is_known_in_any_case(semantics: Semantics) -> None:
    assert parse(f"RETURN COUNT(*) PATTERN A SEMANTICS {semantics.value.title()}").semantics is semantics


@pytest.mark.parametrize("name", ["count", "time", "next", "min", "COUNT", "where", "group", "not", "true", "as"])
def test_a_keyword_after_a_dot_is_an_attribute(name: str) -> None:
    assert where(f"A.{name} > NEXT(A).{name}") == (
        Comparison(">", Attribute("A", name), Attribute("A", name, next=True)),
    )


def test_a_keyword_is_a_name_where_only_a_name_can_stand() -> None:
    assert pattern("SEQ(Start S, Within W+, End E)") == Seq(
        (Atom("Start", "S"), Plus(Atom("Within", "W")), Atom("End", "E"))
    )
    assert pattern("Stock min+ MIN LENGTH 2") == Plus(Atom("Stock", "min"))
    query = parse("RETURN pattern, count, COUNT(*) AS within PATTERN Where GROUP-BY pattern, count")
    assert query.returns[:2] == (ReturnAttribute("pattern"), ReturnAttribute("count"))
    assert query.pattern == Atom("Where", "Where")


@pytest.mark.parametrize("quoted", ['"unit price"', "`unit price`"])
def test_an_odd_name_goes_between_double_quotes_or_backticks(quoted: str) -> None:
    assert where(f"A.{quoted} = 1") == (Comparison("=", Attribute("A", "unit price"), Number(1)),)


def test_a_quote_inside_a_quoted_name_is_written_twice() -> None:
    assert pattern('"a""b" `c``d`') == Atom('a"b', "c`d")


def test_names_may_use_letters_of_any_script() -> None:
    assert where("Größe.価格 = 1") == (Comparison("=", Attribute("Größe", "価格"), Number(1)),)


def test_a_letter_that_only_resembles_a_keyword_s_is_part_of_a_name() -> None:
    # The dotless i turns into a plain I in capitals.
    assert pattern("A wıthın") == Atom("A", "wıthın")


def test_a_part_in_parentheses_has_them_in_its_span() -> None:
    tree = pattern("( A OR B )+")
    offset = len("RETURN COUNT(*) PATTERN ")
    assert isinstance(tree, Plus)
    assert (tree.span, tree.body.span) == (Span(offset, offset + 11), Span(offset, offset + 10))


def test_every_clause_knows_its_place() -> None:
    text = "RETURN g, COUNT(*) AS n PATTERN A WHERE [g, A.x] GROUP-BY g WITHIN 9 s"
    query = parse(text)

    def under(span: Span) -> str:
        return text[span.start : span.stop]

    assert [under(returned.span) for returned in query.returns] == ["g", "COUNT(*) AS n"]
    (equivalence,) = query.where
    assert isinstance(equivalence, Equivalence)
    assert [under(attribute.span) for attribute in equivalence.attributes] == ["g", "A.x"]
    assert [under(attribute.span) for attribute in query.group_by] == ["g"]
    assert query.window is not None
    assert (under(query.window.span), under(query.window.within.span)) == ("WITHIN 9 s", "9 s")


def test_importing_the_parser_does_not_import_lark() -> None:
    program = "import sys, greta.lang.parser; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
