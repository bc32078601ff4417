"""Plan → what an online graph needs of events: codes that stay the same from push to push, and keys of indexes.

A batch ranks values among all that there are. Online there is no such list, so values are compared as what they are:
doubles and 64-bit integers. Text is compared for equality alone, by numbers that are given out as words appear.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.codes import are_plain, encode_together
from greta.engine.columns import Columns, plain
from greta.engine.instants import instants_alike
from greta.engine.job import Job
from greta.engine.tables import attribute_type, plain_type
from greta.kernels.layout import NOTHING
from greta.kernels.runs import LIST, SORTED_RUNS, TOTALS
from greta.lang.nodes import Expression, Semantics
from greta.live.edges import whole_template
from greta.plan.nodes import AccessPath, AttributeType, Equal, Place, Plan, Template

Int = NDArray[np.int64]

_FEW_WORDS = 1024
_WORD_BYTES = 128
"""What a word and its number take besides letters, about."""


class Surprise(Exception):  # noqa: N818 - it is no error: the windows are computed in another way
    """Values that have no code which would stay the same; says what they are."""


class NoRoom(Surprise):
    """The numbers of all windows together need more memory than there is; those of fewer at once may not."""


@dataclass(frozen=True, slots=True)
class Order:
    """One way into an index: the vertices of a state along a link, below a bound.

    ``mirrored``: larger values come first, so that what lies above becomes what lies below.
    """

    source: int
    link: int
    keys: tuple[Equal, ...]
    negations: tuple[int, ...]
    """NOTs of one event of which none may lie between: both events must lie in the same stretch between matches."""
    compared: tuple[Expression, Expression] | None
    mirrored: bool = False
    strict: bool = True
    cut: int | None = None
    """The NOT of several events whose cut-off is compared with the earlier event's time, in place of values."""
    listed: bool = False
    """Whether vertices are kept one by one, since no sum answers their conditions."""

    @property
    def keyed(self) -> bool:
        """Whether events must agree on something to meet in an instance."""
        return bool(self.keys or self.negations)

    @property
    def kind(self) -> int:
        """How its instances hold vertices: TOTALS, SORTED_RUNS or LIST."""
        if self.listed:
            return LIST
        return TOTALS if self.compared is None and self.cut is None else SORTED_RUNS


def orders_of(template: Template) -> tuple[list[Order], dict[tuple[int, int], list[int]]]:
    """The orders of a template, and which of them serve each (source state, link)."""
    orders: list[Order] = []
    serving: dict[tuple[int, int], list[int]] = {}
    for transition in template.transitions:
        place = (transition.source, transition.link)
        if place in serving:
            continue
        link = template.links[transition.link]
        instants = tuple(negative for negative in link.negations if negative not in link.lasting)
        made: list[Order] = []
        if link.path in (AccessPath.RANGES, AccessPath.GENERAL):
            made.append(Order(*place, link.equal, instants, None, listed=True))
        elif link.lasting:
            # The earlier event is not before the cut-off: what lies above becomes what lies below.
            made.append(Order(*place, link.equal, instants, None, mirrored=True, strict=False, cut=link.lasting[0]))
        elif not link.ordered:
            made.append(Order(*place, link.equal, instants, None))
        for one in () if made else link.ordered:
            sides = (one.previous, one.next)
            if one.operator in ("<", "<=", "!="):
                made.append(Order(*place, link.equal, instants, sides, mirrored=False, strict=one.operator != "<="))
            if one.operator in (">", ">=", "!="):
                made.append(Order(*place, link.equal, instants, sides, mirrored=True, strict=one.operator != ">="))
        serving[place] = list(range(len(orders), len(orders) + len(made)))
        orders += made
    return orders, serving


def why_no_indexes(job: Job) -> str | None:
    """Why no index that grows serves a query under skip-till-any-match; None where all its links have one."""
    template = whole_template(job.plan)
    ends = [negative.template for negative in template.negatives if negative.place is Place.TRAILING]
    if any(one.transitions for one in ends):
        return "the query ends with a NOT of more than one event"
    return why_no_parts(job.plan) or _strange_links(job, template) or _strange_numbers(job)


def why_no_passing(job: Job) -> str | None:
    """The same under next and contiguous selection, where only the last vertices are linked to."""
    plan = job.plan
    # What a trailing NOT makes void was not matched either, and may have shut out events of other branches.
    if plan.semantics is Semantics.NEXT and any(len(_trailing(template)) > 1 for template in plan.templates):
        return "the query asks for skip-till-next-match, and branches of an OR end with different NOTs"
    if any(negative.template.transitions for template in plan.templates for negative in template.negatives):
        return f"the query asks for {plan.semantics.value} and has a NOT of more than one event"
    if plan.partitioning.scopes:
        return f"the query asks for {plan.semantics.value}, and some variables alone agree on an attribute"
    return _strange_numbers(job)


def _trailing(template: Template) -> set[tuple[int, ...]]:
    """The sets of trailing NOTs that states have."""
    places = [negative.place for negative in template.negatives]
    return {tuple(at for at in state.clips if places[at] is Place.TRAILING) for state in template.states}


def why_no_parts(plan: Plan) -> str | None:
    """Why partitions cannot be cut by what some variables alone agree on; None where they can, or need not be."""
    scopes = plan.partitioning.scopes
    if not scopes:
        return None
    if len(scopes) > 1:
        return "some variables alone agree on an attribute, others on another one"
    if plan.conjunction:
        return "some variables alone agree on an attribute, and the pattern is an AND"
    if not scopes[0].variables.isdisjoint(_within_nots(plan.templates[0])):
        return "variables within a NOT agree on an attribute that not all events agree on"
    return None


def _within_nots(template: Template) -> frozenset[str]:
    """The variables of all NOTs of a template, and of those within them."""
    inner = (negative.template for negative in template.negatives)
    return frozenset[str]().union(*(one.variables | _within_nots(one) for one in inner))


def _strange_links(job: Job, template: Template) -> str | None:
    try:
        empty = Columns(job.schema.empty_table())
        for order in orders_of(template)[0]:
            if order.compared is not None:
                compared_codes(empty, *order.compared)
    except Surprise as surprise:
        return str(surprise)
    for negative in template.negatives:
        if strange := _strange_links(job, negative.template):
            return strange
    return None


def _strange_numbers(job: Job) -> str | None:
    measures = job.plan.measures
    if job.numbers == "exact":
        for name in (name for measure in measures for name in measure.summed):
            type_ = plain_type(job.schema.field(name).type)
            if pa.types.is_decimal(type_) or pa.types.is_uint64(type_):
                return f"exact values of {name} may have more digits than doubles"
    if job.plan.conjunction and any(measure.summed and at not in job.floating for at, measure in enumerate(measures)):
        return "sums of integers over pairs of trends are computed with all their digits"
    for measure in measures:
        if measure.compared is not None:
            type_ = job.schema.field(measure.compared).type
            number = attribute_type(type_) in (AttributeType.INTEGER, AttributeType.FLOAT)
            if not number or pa.types.is_decimal(type_) or pa.types.is_uint64(type_):
                return f"the extremes of {measure.compared} are no plain numbers"
    return None


def compared_codes(columns: Columns, previous: Expression, next_: Expression) -> tuple[Int, Int]:
    """Codes of both sides of a comparison, NOTHING for NULL; raises Surprise for values that have none for good.

    The same array twice where both sides are the same expression.
    """
    left = columns.evaluate(previous)
    right = left if plain(previous) == plain(next_) else columns.evaluate(next_)
    if left.type != right.type and (pa.types.is_timestamp(left.type) or pa.types.is_timestamp(right.type)):
        left, right = instants_alike(left, right)
    for side in (left,) if right is left else (left, right):
        if pa.types.is_floating(side.type):
            continue
        if attribute_type(side.type) is AttributeType.TEXT:
            raise Surprise("text is compared by its order")
        if pa.types.is_decimal(side.type) or not are_plain(side):
            raise Surprise("numbers of more than 62 bits are compared")
    codes, _ = encode_together(*((left,) if right is left else (left, right)))
    return codes[0], codes[-1]


@dataclass(slots=True)
class Words:
    """Numbers for the values that equalities compare: those of numbers are their codes, words are numbered.

    A number is given out once, so that forgetting words changes no other: one that comes again gets a new number.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    following: int = 0
    """The next number."""
    letters: int = field(init=False)
    """Of all words together."""

    def __post_init__(self) -> None:
        self.letters = sum(map(len, self.numbers))

    @property
    def bytes(self) -> int:
        """Size of all words, about."""
        return self.letters + _WORD_BYTES * len(self.numbers)

    def forget_unused(self, places: Collection[tuple[int, ...]]) -> None:
        """Forget words that no place of an index has among its codes, once these are most of them.

        Places are (order, partition, codes…). Codes of other values may keep a word, which does no harm. O(1) per word
        that has come.
        """
        if len(self.numbers) > 2 * len(places) + _FEW_WORDS:
            used = {code for place in places for code in place[2:]}
            self.numbers = {word: number for word, number in self.numbers.items() if number in used}
            self.letters = sum(map(len, self.numbers))

    def codes(self, columns: Columns, equal: Equal) -> tuple[Int, Int]:
        """Codes of both sides, NOTHING for NULL."""
        left, right = columns.evaluate(equal.previous), columns.evaluate(equal.next)
        if attribute_type(left.type) is AttributeType.TEXT and attribute_type(right.type) is AttributeType.TEXT:
            return self._numbered(left), self._numbered(right)
        return compared_codes(columns, equal.previous, equal.next)

    def _numbered(self, array: pa.Array) -> Int:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        encoded = array.cast(pa.string()).dictionary_encode()
        place = [self._number(word) for word in encoded.dictionary.to_pylist()]
        codes = np.array([*place, NOTHING], dtype=np.int64)
        indices = encoded.indices.fill_null(len(place)).to_numpy(zero_copy_only=False)
        result: Int = codes[indices]
        return result

    def _number(self, word: str) -> int:
        number = self.numbers.get(word)
        if number is None:
            number = self.numbers[word] = self.following
            self.following += 1
            self.letters += len(word)
        return number
