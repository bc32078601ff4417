"""Going through a syntax tree without recursion, so that no depth can exhaust the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

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
    Equivalence,
    Expression,
    Maybe,
    Name,
    Negation,
    Negative,
    Not,
    Number,
    Or,
    Pattern,
    Plus,
    Repeat,
    Seq,
    Star,
    Text,
    TrendAggregate,
)

Node = Pattern | Expression | Equivalence


def children(node: Node) -> tuple[Node, ...]:
    """The parts of a pattern or an expression, in the order of the text."""
    match node:
        case Seq(parts=parts) | Disjunction(parts=parts):
            return parts
        case And(parts=conditions) | Or(parts=conditions):
            return conditions
        case Plus(body=body) | Star(body=body) | Maybe(body=body) | Repeat(body=body) | Negation(body=body):
            return (body,)
        case Not(operand=operand) | Negative(operand=operand) | Call(operand=operand):
            return (operand,)
        case Conjunction(left=one, right=other):
            return (one, other)
        case Arithmetic(left=left, right=right) | Comparison(left=left, right=right):
            return (left, right)
        case Atom() | Equivalence() | Number() | Text() | Boolean() | Attribute() | Name():
            return ()
        case Aggregate() | TrendAggregate():
            return ()
        case _:
            assert_never(node)


def walk(root: Node) -> Iterator[tuple[Node, int]]:
    """Every node with its depth (the root has 1), parents before children, left before right."""
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + 1) for child in reversed(children(node)))
