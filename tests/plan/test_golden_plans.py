"""Plans and errors held in golden files. GRETA_UPDATE_GOLDEN=1 writes them anew, for review."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from greta.errors import QueryMeaningError, SchemaError
from greta.plan.analyze import analyze
from greta.plan.nodes import AttributeType
from support.plan_text import plan_text

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("GRETA_UPDATE_GOLDEN") == "1"

SCHEMA = {
    "t": AttributeType.INTEGER,
    "x": AttributeType.FLOAT,
    "name": AttributeType.TEXT,
    "open": AttributeType.BOOLEAN,
    "at": AttributeType.TIMESTAMP,
}


def counting(pattern: str, rest: str = "") -> str:
    return f"RETURN COUNT(*)\nPATTERN {pattern}\n{rest}".strip()


PLANS = {
    "q1": """RETURN sector, COUNT(*) PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds""",
    "q2": """RETURN mapper, SUM(M.cpu) PATTERN SEQ(Start S, Measurement M+, End E)
WHERE [job, mapper] AND M.load < NEXT(M).load
GROUP-BY mapper WITHIN 1 minute SLIDE 30 seconds""",
    "q3": """RETURN segment, COUNT(*), AVG(P.speed) PATTERN SEQ(NOT Accident A, Position P+)
WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed
GROUP-BY segment WITHIN 5 minutes SLIDE 1 minute""",
    "figure_6a": counting("A+"),
    "figure_6b": counting("SEQ(A+, B)"),
    "figure_6c": counting("SEQ(A+, B)+"),
    "figure_6d": counting("SEQ(A+, NOT SEQ(C, NOT E, D), B)+"),
    "figure_8a": counting("SEQ(A+, NOT E)"),
    "figure_8b": counting("SEQ(NOT E, A+)"),
    "figure_9": counting("SEQ(A+, B)+", "WITHIN 10 seconds SLIDE 3 seconds"),
    "example_aggregates": """RETURN COUNT(*), COUNT(A), MIN(A.attr), MAX(A.attr), SUM(A.attr), AVG(A.attr)
PATTERN SEQ(A+, B)+""",
    "multiple_occurrences": counting("SEQ(A+, B, A, A+, B+)"),
    "operator_atom": counting("Stock S"),
    "operator_star": counting("SEQ(A*, B)"),
    "operator_star_alone": counting("A*"),
    "operator_maybe": counting("SEQ(A?, B)"),
    "operator_exactly": counting("SEQ(A, B){2}"),
    "operator_at_least": counting("A{3,}"),
    "operator_between": counting("A{2,4}"),
    "operator_or": counting("(A OR SEQ(B, C))+"),
    "operator_or_of_the_same": counting("A+ OR A+"),
    "operator_seq_of_the_same": counting("SEQ(A+, A+)"),
    "operator_and": counting("A+ AND SEQ(A, NOT C, A, B?)"),
    "operator_and_apart": counting("A+ AND B+"),
    "operator_and_with_not": counting("SEQ(NOT L, A, NOT M, B) AND SEQ(A, NOT N, B+, NOT O)"),
    "operator_and_next": counting("A{1,2} AND A+", "SEMANTICS skip-till-next-match MIN LENGTH 3"),
    "unambiguous_though_nondeterministic": counting("SEQ((A OR B)*, A, B)"),
    "not_in_branches": counting("SEQ(NOT N, A+) OR SEQ(B, NOT M)"),
    "not_at_both_edges_and_between": counting("SEQ(NOT L, A, NOT M, B, NOT N)"),
    "not_repeated_by_bounds": counting("SEQ(A, NOT N, B){2}"),
    "not_opened_sequence": counting("SEQ(A, SEQ(B, NOT N), C)"),
    "not_sheltered_optional": counting("SEQ(SEQ(A, B?), NOT N, C)"),
    "min_length": counting("SEQ(A+, B)+", "MIN LENGTH 3"),
    "min_length_too_long": counting("SEQ(A, B)", "MIN LENGTH 3"),
    "min_length_too_long_next": counting("SEQ(A, B)", "SEMANTICS skip-till-next-match MIN LENGTH 3"),
    "min_length_spares_not": counting("SEQ(A+, NOT SEQ(B, C), D)", "MIN LENGTH 2"),
    "scopes": """RETURN v, COUNT(*) PATTERN SEQ((P OR Q)+, R?)
WHERE [P.v, Q.w, R.s, s] GROUP-BY v""",
    "scope_inside_not_groups_nothing": """RETURN v, COUNT(*) PATTERN SEQ(NOT N, P+)
WHERE [N.v] GROUP-BY v""",
    "scope_of_everything": counting("Stock S+", "WHERE [S.company]"),
    "type_stands_for_its_variables": """RETURN COUNT(Stock), COUNT(S), SUM(Stock.x)
PATTERN SEQ(Stock S+, Stock T, Bond B)
WHERE Stock.x > 5 AND [Stock.sector] AND Stock.x < NEXT(Stock).x""",
    "paths": """RETURN COUNT(*) PATTERN SEQ(A+, B+, C+, D+)+
WHERE A.x = NEXT(A).x AND A.x <= NEXT(B).x AND NEXT(B).x > 2 * B.x AND B.y = NEXT(B).y
AND B.x != NEXT(C).x AND B.y != NEXT(C).y AND (C.x < NEXT(C).x OR C.y = NEXT(C).y)
AND C.x != NEXT(D).x AND C.x > NEXT(D).y""",
    "unequal_across_not": counting("SEQ(A, NOT N, B)", "WHERE A.x != NEXT(B).x"),
    "not_pushed_inwards": counting("A+", "WHERE NOT (A.x >= NEXT(A).x OR A.y != 3) AND NOT A.flag"),
    "constant_conditions": counting("SEQ(A, NOT N, B)", "WHERE 1 < 2 AND 2 = 3"),
    "having": """RETURN g, COUNT(*) AS n, SUM(A.x) PATTERN A+ GROUP-BY g, h
HAVING n > 5 AND COUNT(*) < 100 AND AVG(A.x) > MIN(A.y) AND h != 'z'""",
}


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_is_the_golden_one(name: str) -> None:
    _compare(GOLDEN / f"{name}.txt", f"{PLANS[name]}\n----\n{plan_text(analyze(PLANS[name]))}")


def test_integers_of_the_schema_let_sums_be_rearranged() -> None:
    query = counting("S+", "WHERE NEXT(S).t - S.t < 60 AND S.t + NEXT(S).t * 2 >= -(NEXT(S).t - S.t * S.t) + 1")
    _compare(GOLDEN / "schema_integers.txt", f"{query}\n----\n{plan_text(analyze(query, SCHEMA))}")


ERRORS = {
    "errors_names": [
        counting("Stock S+", "WHERE T.price > 5"),
        counting("Stock S+", "WHERE Stok.price > 5"),
        counting("SEQ(Stock S, Bond S)"),
        counting("SEQ(Stock B, B)"),
        counting("Stock S+", "WHERE [T.price]"),
        "RETURN COUNT(T) PATTERN Stock S+",
        counting("SEQ(" + ", ".join(f"T{n}" for n in range(65)) + ")"),
    ],
    "errors_shape": [
        counting("A+ AND B+ AND C+"),
        counting("SEQ(A, (B AND C))"),
        counting("(A AND B)+"),
        counting("NOT Accident A"),
        counting("(NOT A)+"),
        counting("SEQ(A, (NOT B)?)"),
        counting("SEQ(A, (NOT B OR C), D)"),
        counting("SEQ(A, NOT NOT B, C)"),
        counting("SEQ(NOT A)"),
        counting("SEQ(NOT A, NOT B)"),
        counting("SEQ(A, NOT B, NOT C, D)"),
        counting("SEQ(NOT A, NOT B, C)"),
        counting("SEQ(A, NOT N, B?, C)"),
        counting("SEQ(A*, NOT N, B)"),
        counting("SEQ(A, NOT N, (B OR C{0,3}), D)"),
        counting("SEQ(A, NOT N)+"),
        counting("SEQ(NOT N, A)+"),
        counting("SEQ(A, (SEQ(NOT N, B) OR C))"),
        counting("SEQ(A, NOT SEQ(NOT C, D), B)"),
        counting("SEQ(A, NOT SEQ(C, NOT D), B)"),
        counting("A+ AND SEQ(B, NOT N)?"),
        counting("SEQ(A+, NOT N, A+)"),
        counting("SEQ(NOT N, A+) OR A+"),
        counting("SEQ(NOT N, (A+){2})"),
        counting("SEQ(A, NOT SEQ(B+, NOT N, B+), C)"),
    ],
    "errors_size": [
        counting("((A{100}){100}){100}"),
        counting("((SEQ(A?, B?, C?)){30}){30}"),
        counting("SEQ(A, NOT ((B{100}){100}), C)"),
        counting("SEQ((A OR B)*, A+, (A OR B){12})"),
        counting("(A OR B OR C OR D OR E OR F)+", "MIN LENGTH 1000"),
        counting("A+", "MIN LENGTH 1001"),
    ],
    "errors_predicates": [
        counting("SEQ(A, B)", "WHERE A.x < B.x"),
        counting("SEQ(A, B)", "WHERE B.x < A.x + 1"),
        counting("SEQ(A, B, C)", "WHERE A.x < C.x"),
        counting("A OR B", "WHERE A.x < B.x"),
        counting("SEQ(A, B)", "WHERE NEXT(B).x > 5"),
        counting("SEQ(A, B)", "WHERE B.x < NEXT(A).x"),
        counting("SEQ(A, B, C)", "WHERE A.x < NEXT(C).x"),
        counting("A", "WHERE A.x < NEXT(A).x"),
        counting("SEQ(A, NOT N, B)", "WHERE A.x < NEXT(N).x"),
        counting("SEQ(A, B)+", "WHERE A.x < NEXT(B).x + NEXT(A).x"),
        counting("SEQ(A, B, C)", "WHERE A.x + B.x < NEXT(C).x"),
    ],
    "errors_types": [
        counting("S+", "WHERE S.x + 'a' > 5"),
        counting("S+", "WHERE 'a' < 5"),
        counting("S+", "WHERE S.x + 1"),
        counting("S+", "WHERE 5"),
        counting("S+", "WHERE NOT 'a'"),
        counting("S+", "WHERE S.open < TRUE"),
        counting("S+", "HAVING COUNT(*)"),
        counting("S+", "HAVING COUNT(*) = 'many'"),
    ],
    "errors_schema": [
        counting("S+", "WHERE S.nme = 'a'"),
        counting("S+", "WHERE [volume]"),
        "RETURN volume, COUNT(*) PATTERN S+ GROUP-BY volume",
        "RETURN SUM(S.volume) PATTERN S+",
        "RETURN SUM(S.name) PATTERN S+",
        "RETURN AVG(S.at) PATTERN S+",
        counting("S+", "WHERE S.name > 5"),
        counting("S+", "WHERE S.name = NEXT(S).x"),
        counting("S+", "WHERE S.name * 2 > 5"),
        counting("S+", "WHERE S.open > NEXT(S).open"),
        counting("S+", "WHERE S.at > 5"),
        counting("S+", "WHERE S.at > 'noon'"),
        counting("S+", "WHERE NEXT(S).at - S.at < 60"),
        counting("S+", "WHERE S.x OR S.open"),
        counting("S+", "WHERE S.name"),
        counting("S+", "HAVING MAX(S.name) > 5"),
    ],
    "errors_grouping": [
        "RETURN sector, COUNT(*) PATTERN Stock S+",
        "RETURN sectr, COUNT(*) PATTERN Stock S+ GROUP-BY sector",
        "RETURN company, COUNT(*) PATTERN Stock S+ GROUP-BY sector",
        "RETURN v, COUNT(*) PATTERN SEQ(P+, Q+) WHERE [P.v, Q.v] GROUP-BY v",
    ],
    "errors_aggregates": [
        "RETURN COUNT(N) PATTERN SEQ(A, NOT N, B)",
        "RETURN MAX(N.x) PATTERN SEQ(NOT N, A)",
        "RETURN COUNT(*) AS window_start PATTERN A+",
        "RETURN COUNT(*) AS g PATTERN A+ GROUP-BY g",
        counting("A+", "HAVING cont > 5"),
        counting("A+", "GROUP-BY g HAVING h = 5"),
    ],
}


@pytest.mark.parametrize("name", ERRORS)
def test_the_errors_are_the_golden_ones(name: str) -> None:
    schema = SCHEMA if name == "errors_schema" else None
    kind = SchemaError if name == "errors_schema" else (QueryMeaningError, SchemaError)
    shown = []
    for query in ERRORS[name]:
        with pytest.raises(kind) as caught:
            analyze(query, schema)
        assert caught.value.hint
        shown.append(f"{caught.value}\n")
    _compare(GOLDEN / f"{name}.txt", "\n".join(shown))


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*PLANS, *ERRORS, "schema_integers"}


def _compare(path: Path, text: str) -> None:
    if UPDATE:
        path.write_text(text, "utf-8")
    assert path.read_text("utf-8") == text
