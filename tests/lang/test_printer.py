"""The canonical form, construct by construct."""

import pytest

from greta.lang.parser import parse


def printed_pattern(text: str) -> str:
    return str(parse(f"RETURN COUNT(*) PATTERN {text}")).splitlines()[1].removeprefix("PATTERN ")


def printed_where(text: str) -> str:
    return str(parse(f"RETURN COUNT(*) PATTERN A WHERE {text}")).splitlines()[2].removeprefix("WHERE ")


def test_each_clause_has_its_line_and_defaults_are_left_out() -> None:
    text = (
        "return sector, count(*) as trends, avg(S.price) as avg_S_price pattern ((Stock S)+) "
        "semantics skip-till-any-match min length 1 where ([company]) and S.price>next(S).price "
        "group by sector having count(*)>1e3 within 600 seconds slide 10000 ms"
    )
    assert str(parse(text)).splitlines() == [
        "RETURN sector, COUNT(*) AS trends, AVG(S.price)",
        "PATTERN Stock S+",
        "WHERE [company] AND S.price > NEXT(S).price",
        "GROUP-BY sector",
        "HAVING COUNT(*) > 1000.0",
        "WITHIN 10 minutes SLIDE 10 seconds",
    ]


def test_clauses_that_are_not_default_are_printed_in_the_usual_order() -> None:
    text = "RETURN COUNT(*) PATTERN A WITHIN 1 day MIN LENGTH 2 SEMANTICS contiguous"
    assert str(parse(text)).splitlines()[2:] == ["SEMANTICS contiguous", "MIN LENGTH 2", "WITHIN 1 day"]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("((A))+", "A+"),
        ("A A", "A"),
        ("A++", "(A+)+"),
        ("A{2,2}", "A{2}"),
        ("(SEQ(A, B))+", "SEQ(A, B)+"),
        ("(A OR (B OR C))?", "(A OR B OR C)?"),
        ("NOT (A OR B)", "NOT (A OR B)"),
        ("(NOT A) OR B", "NOT A OR B"),
        ("(A OR B) AND C", "A OR B AND C"),
        ("A AND (B AND C)", "A AND (B AND C)"),
        ("(A AND B) OR C", "(A AND B) OR C"),
        ('`A` "where"', 'A "where"'),
        ('Stock "unit price"+', 'Stock "unit price"+'),
        ("`seq`", '"seq"'),
    ],
)
def test_a_pattern_is_printed_with_no_needless_parentheses_or_quotes(text: str, canonical: str) -> None:
    assert printed_pattern(text) == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("((A.x))>(1)", "A.x > 1"),
        ("(A.x*A.y)+A.z", "A.x * A.y + A.z"),
        ("A.x-(A.y-A.z)", "A.x - (A.y - A.z)"),
        ("A.x<>1", "A.x != 1"),
        ("NOT(A.x=1)", "NOT A.x = 1"),
        ("NOT (A.x AND A.y)", "NOT (A.x AND A.y)"),
        ("A.x AND (A.y OR A.z)", "A.x AND (A.y OR A.z)"),
        ("(A.x AND A.y) OR A.z", "A.x AND A.y OR A.z"),
        ("- - A.x", "-(-A.x)"),
        ("A.x - - 1", "A.x - -1"),
        ("A.\"count\" = 'it''s'", "A.count = 'it''s'"),
        ("A.x = 1E2", "A.x = 100.0"),
        ("A.x = 0.1", "A.x = 0.1"),
        ("A.x = 1e300", "A.x = 1e+300"),
    ],
)
def test_a_condition_is_printed_with_no_needless_parentheses_or_quotes(text: str, canonical: str) -> None:
    assert printed_where(text) == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("60 s", "1 minute"),
        ("90 s", "90 seconds"),
        ("48 h", "2 days"),
        ("1500 ms", "1500 ms"),
        ("0.5 h", "30 minutes"),
    ],
)
def test_a_duration_is_printed_in_its_largest_whole_unit(text: str, canonical: str) -> None:
    assert str(parse(f"RETURN COUNT(*) PATTERN A WITHIN {text}")).splitlines()[-1] == f"WITHIN {canonical}"


def test_patterns_and_expressions_print_as_text_too() -> None:
    query = parse("RETURN COUNT(*) PATTERN (Stock S)+ WHERE S.price>1")
    assert (str(query.pattern), str(query.where[0])) == ("Stock S+", "S.price > 1")
