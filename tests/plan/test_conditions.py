"""Rewriting conditions changes no value, not even that of unknown ones."""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from greta.lang.nodes import (
    And,
    Arithmetic,
    Attribute,
    Boolean,
    Comparison,
    Expression,
    Negative,
    Not,
    Number,
    Or,
    Query,
)
from greta.plan.conditions import conjuncts, constant
from greta.plan.draft import Draft
from greta.plan.links import separate
from greta.plan.nodes import AttributeType, Equal, Ordered

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Event = dict[str, Any]


def value(expression: Expression, previous: Event, following: Event) -> Any:
    """SQL's three-valued logic, None being unknown."""
    match expression:
        case Number(value=number) | Boolean(value=number):
            return number
        case Attribute(name=name, next=later):
            return (following if later else previous)[name]
        case Negative(operand=operand):
            number = value(operand, previous, following)
            return None if number is None else -number
        case Not(operand=operand):
            truth = value(operand, previous, following)
            return None if truth is None else not truth
        case And(parts=parts) | Or(parts=parts):
            values = [value(part, previous, following) for part in parts]
            decisive = isinstance(expression, Or)
            return decisive if decisive in values else (None if None in values else not decisive)
        case Arithmetic(operator=sign, left=left, right=right) | Comparison(operator=sign, left=left, right=right):
            sides = value(left, previous, following), value(right, previous, following)
            return None if None in sides else OPERATORS[sign](*sides)
    raise AssertionError(expression)


comparisons = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
attributes = st.builds(Attribute, st.just("S"), st.sampled_from("xy"), st.booleans())


def integers(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.recursive(
        leaves,
        lambda smaller: st.one_of(
            st.builds(Arithmetic, st.sampled_from("+-*"), smaller, smaller), st.builds(Negative, smaller)
        ),
        max_leaves=5,
    )


def conditions(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.builds(Comparison, comparisons, leaves, leaves) | st.booleans().map(Boolean)
    return st.recursive(
        several,
        lambda smaller: st.one_of(
            st.builds(Not, smaller),
            st.builds(And, st.lists(smaller, min_size=2, max_size=3).map(tuple)),
            st.builds(Or, st.lists(smaller, min_size=2, max_size=3).map(tuple)),
        ),
        max_leaves=6,
    )


numbers = st.integers(-3, 3).map(Number)
events = st.fixed_dictionaries({"x": st.none() | st.integers(-3, 3), "y": st.none() | st.integers(-3, 3)})


@given(conditions(attributes | numbers), events, events)
def test_conjuncts_are_all_true_where_the_condition_is(
    condition: Expression, previous: Event, following: Event
) -> None:
    parts = list(conjuncts(condition))
    assert not any(isinstance(part, And) for part in parts)
    together = all(value(part, previous, following) is True for part in parts)
    assert together == (value(condition, previous, following) is True)


@given(conditions(integers(numbers)))
def test_a_constant_has_the_value_that_execution_would_find(condition: Expression) -> None:
    for part in conjuncts(condition):
        assert constant(part) in (None, value(part, {}, {}))
        if not isinstance(part, Not | Or):
            assert constant(part) is not None


@given(
    st.builds(Comparison, comparisons, integers(attributes | numbers), integers(attributes | numbers)),
    events,
    events,
)
def test_a_condition_taken_apart_means_the_same(condition: Comparison, previous: Event, following: Event) -> None:
    draft = Draft(Query((), None), {"x": AttributeType.INTEGER, "y": AttributeType.INTEGER})  # type: ignore[arg-type]
    match separate(condition, draft):
        case Equal(previous=before, next=after):
            apart = Comparison("=", before, after)
        case Ordered(previous=before, operator=sign, next=after):
            apart = Comparison(sign, before, after)
        case None:
            return
    assert {leaf.next for leaf in _leaves(before)} == {False}
    assert {leaf.next for leaf in _leaves(after)} == {True}
    assert value(apart, previous, following) == value(condition, previous, following)


def _leaves(expression: Expression) -> list[Attribute]:
    match expression:
        case Attribute():
            return [expression]
        case Negative(operand=operand):
            return _leaves(operand)
        case Arithmetic(left=left, right=right):
            return _leaves(left) + _leaves(right)
        case _:
            return []
