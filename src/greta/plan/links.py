"""Edge predicates on a transition → link: which conjuncts an index can answer, and the access path."""

from __future__ import annotations

from greta.lang.nodes import Arithmetic, Comparison, ComparisonOperator, Expression, Negative
from greta.plan.conditions import MIRRORED, attributes
from greta.plan.draft import Draft
from greta.plan.nodes import AccessPath, AttributeType, EdgePredicate, Equal, Link, Ordered
from greta.plan.types import type_of


class Links:
    """The links of one template; transitions with the same conditions share one.

    ``compared`` is shared between templates so that each predicate is taken apart once. ``lasting`` are the NOTs
    whose matches may have several events.
    """

    def __init__(
        self, draft: Draft, compared: dict[EdgePredicate, Equal | Ordered | None], lasting: frozenset[int]
    ) -> None:
        self._draft = draft
        self._compared = compared
        self._lasting = lasting
        self._by_pair: dict[tuple[str, str, tuple[int, ...]], int] = {}
        self._index: dict[Link, int] = {}

    @property
    def all(self) -> tuple[Link, ...]:
        """The links so far, in the order of their indices."""
        return tuple(self._index)

    def between(self, source: str, target: str, negations: tuple[int, ...]) -> int:
        """The index of the link for transitions between these variables across these NOTs."""
        index = self._by_pair.get((source, target, negations))
        if index is None:
            predicates = tuple(p for p in self._draft.edge_predicates if source in p.sources and target in p.targets)
            link = self._link(predicates, negations)
            index = self._by_pair[source, target, negations] = self._index.setdefault(link, len(self._index))
        return index

    def _link(self, predicates: tuple[EdgePredicate, ...], negations: tuple[int, ...]) -> Link:
        equal: dict[Equal, None] = {}
        ordered: dict[Ordered, None] = {}
        unequal: dict[Ordered, None] = {}
        residual: list[Expression] = []
        for predicate in predicates:
            match self._taken_apart(predicate):
                case Equal() as found:
                    equal[found] = None
                case Ordered(operator="!=") as found:
                    unequal[found] = None
                case Ordered() as found:
                    ordered[found] = None
                case None:
                    residual.append(predicate.condition)
        lasting = tuple(n for n in negations if n in self._lasting)
        # All but one key: an index answers that by itself, but not together with ranges.
        if unequal and not ordered and not lasting:
            first, *others = unequal
            ordered, unequal = {first: None}, dict.fromkeys(others)
        residual.extend(Comparison("!=", found.previous, found.next) for found in unequal)
        path = _path(tuple(ordered), bool(residual), len(lasting), bool(equal or negations))
        return Link(predicates, tuple(equal), tuple(ordered), tuple(residual), negations, lasting, path)

    def _taken_apart(self, predicate: EdgePredicate) -> Equal | Ordered | None:
        if predicate not in self._compared:
            self._compared[predicate] = separate(predicate.condition, self._draft)
        return self._compared[predicate]


def _path(ordered: tuple[Ordered, ...], residual: bool, lasting: int, keyed: bool) -> AccessPath:
    """The way to sum predecessors; a NOT whose matches last has a cut-off in time, which is one more comparison."""
    if residual:
        return AccessPath.GENERAL
    if len(ordered) + lasting > 1:
        return AccessPath.RANGES
    if ordered and ordered[0].operator == "!=":
        return AccessPath.UNEQUAL
    if ordered or lasting:
        return AccessPath.ORDERED
    return AccessPath.EQUAL if keyed else AccessPath.FREE


def separate(condition: Expression, draft: Draft) -> Equal | Ordered | None:
    """``f(previous) op g(next)``, where the condition can be written so without changing its value.

    Sums over attributes that the schema knows to be integers are rearranged, which is exact:
    ``NEXT(S).t - S.t < 60`` becomes ``S.t > NEXT(S).t - 60``. With floating point it would not be.
    """
    if not isinstance(condition, Comparison):
        return None
    left, right, sign = condition.left, condition.right, condition.operator
    match _events(left), _events(right):
        case "previous", "next":
            previous, following = left, right
        case "next", "previous":
            previous, following, sign = right, left, MIRRORED[sign]
        case _:
            rearranged = _rearranged(condition, draft)
            if rearranged is None:
                return None
            previous, sign, following = rearranged
    return Equal(previous, following) if sign == "=" else Ordered(previous, sign, following)


def _events(expression: Expression) -> str:
    """Which events the expression speaks of: previous, next, both or none."""
    found = {attribute.next for attribute in attributes(expression)}
    if len(found) == 2:
        return "both"
    return ("next" if found.pop() else "previous") if found else "none"


Term = tuple[bool, Expression]
"""A summand and whether it is subtracted."""


def _rearranged(condition: Comparison, draft: Draft) -> tuple[Expression, ComparisonOperator, Expression] | None:
    terms = [*_terms(condition.left, minus=False), *_terms(condition.right, minus=True)]
    previous: list[Term] = []
    rest: list[Term] = []
    for minus, term in terms:
        if type_of(term, draft) is not AttributeType.INTEGER:
            return None
        match _events(term):
            case "previous":
                previous.append((minus, term))
            case "both":
                return None
            case _:
                rest.append((not minus, term))
    if not previous or all(_events(term) == "none" for _, term in rest):
        return None
    if all(minus for minus, _ in previous):
        return _sum(_negated(previous)), MIRRORED[condition.operator], _sum(_negated(rest))
    return _sum(previous), condition.operator, _sum(rest)


def _negated(terms: list[Term]) -> list[Term]:
    return [(not minus, term) for minus, term in terms]


def _terms(expression: Expression, *, minus: bool) -> list[Term]:
    match expression:
        case Arithmetic(operator="+" | "-" as sign, left=left, right=right) if _events(expression) == "both":
            return [*_terms(left, minus=minus), *_terms(right, minus=minus != (sign == "-"))]
        case Negative(operand=operand) if _events(expression) == "both":
            return _terms(operand, minus=not minus)
        case _:
            return [(minus, expression)]


def _sum(terms: list[Term]) -> Expression:
    positive = [term for minus, term in terms if not minus]
    total: Expression | None = None
    for term in positive:
        total = term if total is None else Arithmetic("+", total, term)
    for minus, term in terms:
        if minus:
            total = Negative(term) if total is None else Arithmetic("-", total, term)
    assert total is not None
    return total
