"""All evaluators of expressions agree on one matrix of values with brute force, which shares no code with them.

Conditions on one event are evaluated over columns, or folded by the planner where they are constant; those on two
events become codes or residual programs in the kernels, and plain Python in the paper's graph; HAVING has an evaluator
of its own, and Spark's filters another (``tests/spark/test_spark_evaluators.py``). Decision 21 lists them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from greta import aggregate
from greta.engine.columns import Columns
from greta.plan.conditions import constant
from support.evaluators import COLUMNS, COMPARISONS, KINDS, LOGIC, PRODUCTS, Pairs, conditions, parsed

pytestmark = pytest.mark.filterwarnings("ignore::greta.GretaWarning")

STRATEGIES = pytest.mark.parametrize("strategy", ["auto", "graph"])
FLOATS = {"float64", "float32"}
LONG_PRODUCTS = [
    "{x} * {y} * {x} * {y} >= {x} * {x}",
    "{x} * {y} % 10 > {y} % 7",
    "-({x} * {y}) <= {x} * 3 - {y}",
    "({x} + {y}) * ({x} - {y}) = {x} * {x} - {y} * {y}",
    "{x} * {x} % ({y} * {y} + 1) = {x} * {x} - {y}",
]
EVERY_KIND = pytest.mark.parametrize("kinds", KINDS, ids=" and ".join)


def disagreements(pairs: Pairs, answers: dict[str, list[int]]) -> dict[str, list[tuple[Any, Any]]]:
    """Per condition the values that an evaluator and brute force decide differently."""
    found = {}
    for condition, answer in answers.items():
        wrong = sorted(set(answer) ^ set(pairs.judged(condition)))
        if wrong:
            found[condition] = [(pairs.x[at].as_py(), pairs.y[at].as_py()) for at in wrong]
    return found


@EVERY_KIND
def test_conditions_on_one_event_agree(kinds: tuple[str, str]) -> None:
    pairs = Pairs.of(kinds)
    columns = Columns(pairs.in_one_event())
    answers = {
        condition: np.flatnonzero(columns.holds(parsed(condition.format(x="A.x", y="A.y")))).tolist()
        for condition in conditions(kinds)
    }
    assert disagreements(pairs, answers) == {}


def over_two_events(pairs: Pairs, condition: str, strategy: Any) -> list[int]:
    where = condition.format(x="A.x", y="NEXT(B).y")
    query = f"RETURN id PATTERN SEQ(A, B) WHERE [id] AND ({where}) GROUP-BY id"
    return sorted(aggregate(pairs.in_two_events(), query, strategy=strategy).column("id").to_pylist())


@STRATEGIES
@EVERY_KIND
def test_conditions_on_two_events_agree(kinds: tuple[str, str], strategy: Any) -> None:
    pairs = Pairs.of(kinds)
    compared = [text for text in conditions(kinds) if "{y}" in text and "AND NOT {y}" not in text]
    chosen = [text for text in compared if text not in PRODUCTS]
    answers = {condition: over_two_events(pairs, condition, strategy) for condition in chosen}
    assert disagreements(pairs, answers) == {}


@STRATEGIES
@pytest.mark.parametrize("kinds", [kinds for kinds in KINDS if "float64" in kinds], ids=" and ".join)
def test_products_of_values_of_two_events_agree_in_doubles(kinds: tuple[str, str], strategy: Any) -> None:
    pairs = Pairs.of(kinds)
    answers = {condition: over_two_events(pairs, condition, strategy) for condition in PRODUCTS}
    assert disagreements(pairs, answers) == {}


@STRATEGIES
@pytest.mark.parametrize("kinds", [kinds for kinds in KINDS[:9] if not set(kinds) & FLOATS], ids=" and ".join)
def test_products_of_integers_of_two_events_are_exact(kinds: tuple[str, str], strategy: Any) -> None:
    pairs = Pairs.of(kinds)
    answers = {condition: over_two_events(pairs, condition, strategy) for condition in (*PRODUCTS, *LONG_PRODUCTS)}
    assert disagreements(pairs, answers) == {}


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("kinds", KINDS[:9], ids=" and ".join)
def test_conditions_of_having_agree(kinds: tuple[str, str], numbers: Any) -> None:
    pairs = Pairs.of(kinds)
    events = pairs.in_one_event()
    asked = conditions(kinds)
    if "float64" in kinds and kinds != ("float64", "float64"):
        # Beside an integer, HAVING computes with fractions, without rounding.
        asked = [condition for condition in asked if condition in (*COMPARISONS, *LOGIC)]
    queries = [
        "RETURN id, COUNT(*) AS n PATTERN A WHERE [id] GROUP-BY id HAVING "
        + condition.format(x="MAX(A.x)", y="MIN(A.y)")
        for condition in asked
        if "%" not in condition
    ]
    asked = [condition for condition in asked if "%" not in condition]
    rows = aggregate(events, queries, numbers=numbers).to_pylist()
    answers = {condition: [row["id"] for row in rows if row["query"] == at] for at, condition in enumerate(asked)}
    assert disagreements(pairs, answers) == {}


def literal(value: Any) -> str | None:
    """A value as the language writes it; None where it cannot."""
    if value is None or (isinstance(value, float) and not abs(value) < math.inf):
        return None
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return f"'{value}'" if isinstance(value, str) else f"({value})"


@EVERY_KIND
def test_conditions_on_a_value_and_a_constant_agree(kinds: tuple[str, str]) -> None:
    pairs = Pairs.of(kinds)
    columns = Columns(pairs.in_one_event())
    others = COLUMNS[kinds[1]].to_pylist()
    answers: dict[str, list[int]] = {condition: [] for condition in conditions(kinds)}
    for condition, answer in answers.items():
        for at, value in enumerate(others):
            text = literal(value)
            if text is None:
                answer += [number for number in pairs.judged(condition) if number % len(others) == at]
                continue
            holds = columns.holds(parsed(condition.format(x="A.x", y=text)))
            answer += [number for number in np.flatnonzero(holds).tolist() if number % len(others) == at]
    assert disagreements(pairs, answers) == {}


@EVERY_KIND
def test_constants_that_the_planner_folds_agree(kinds: tuple[str, str]) -> None:
    pairs = Pairs.of(kinds)
    folded = 0
    for condition in conditions(kinds):
        holds = set(pairs.judged(condition))
        for at in range(len(pairs)):
            x, y = literal(pairs.x[at].as_py()), literal(pairs.y[at].as_py())
            if x is None or y is None:
                continue
            value = constant(parsed(condition.format(x=x, y=y)))
            if value is not None:
                folded += 1
                assert value == (at in holds), (condition, x, y)
    assert folded
