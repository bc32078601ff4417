"""Hypothesis strategies for syntax trees: whatever the grammar can say, in the parser's canonical form.

The trees are syntactically valid but need not mean anything: variables in predicates are not those of the
pattern. Names are often keywords, or need quotes.
"""

from hypothesis import strategies as st

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
    ValuePart,
    Within,
)
from greta.lang.walk import walk
from greta.lang.words import EVENT_FUNCTIONS, KEYWORDS, MATH_FUNCTIONS, TERMINALS, TREND_FUNCTIONS, VALUE_FUNCTIONS

_KEYWORDS = sorted({*KEYWORDS, *TERMINALS, "MIN", "LENGTH", "GROUP", "BY", "GROUP-BY", "DISTINCT"})


_PLAIN = st.sampled_from(["A", "B", "S", "Stock", "End", "price", "x_1", "größe", "価格", "_"])
_SPELT_LIKE_KEYWORDS = st.sampled_from([spelt for word in _KEYWORDS for spelt in (word, word.lower(), word.title())])
_ODD = st.one_of(
    st.sampled_from(["unit price", '"', "`", "1st", "a.b", "a--b", "new\nline", "'"]),
    st.text(min_size=1, max_size=6),
)
_NAMES = st.one_of(_PLAIN, _PLAIN, _SPELT_LIKE_KEYWORDS, _ODD)


# Composite, so that Hypothesis shows it as names() wherever it reports a strategy.
@st.composite
def names(draw: st.DrawFn) -> str:
    """Names of types, variables, attributes and columns: plain ones, keywords in any case, and odd ones."""
    return draw(_NAMES)


def atoms() -> st.SearchStrategy[Atom]:
    """``Stock``, ``Stock S``"""
    return st.one_of(names().map(lambda name: Atom(name, name)), st.builds(Atom, names(), names()))


def patterns(max_leaves: int = 8) -> st.SearchStrategy[Pattern]:
    """Patterns with every operator anywhere, NOT and AND too."""

    def larger(smaller: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
        not_disjunction = smaller.filter(lambda pattern: not isinstance(pattern, Disjunction))
        return st.one_of(
            st.builds(Plus, smaller),
            st.builds(Star, smaller),
            st.builds(Maybe, smaller),
            _repeats(smaller),
            st.builds(Negation, smaller),
            st.builds(Seq, st.lists(smaller, min_size=1, max_size=4).map(tuple)),
            st.builds(Disjunction, st.lists(not_disjunction, min_size=2, max_size=4).map(tuple)),
            st.builds(Conjunction, smaller, smaller),
        )

    return st.recursive(atoms(), larger, max_leaves=max_leaves)


def _repeats(bodies: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Repeat]:
    bounds = st.one_of(
        st.tuples(st.integers(0, 10_000), st.none()),
        st.tuples(st.integers(0, 100), st.integers(1, 10_000)).filter(lambda pair: pair[0] <= pair[1]),
        st.integers(1, 100).map(lambda exactly: (exactly, exactly)),
    )
    return st.builds(lambda body, pair: Repeat(body, *pair), bodies, bounds)


def numbers() -> st.SearchStrategy[Number]:
    """Whole numbers of any size, and every finite float."""
    return st.one_of(st.integers(-10, 10), st.integers(), st.floats(allow_nan=False, allow_infinity=False)).map(Number)


def constants() -> st.SearchStrategy[Expression]:
    """Numbers, text, TRUE and FALSE."""
    return st.one_of(
        numbers(),
        st.text(max_size=8).map(Text),
        st.sampled_from(["it's", "--", "''"]).map(Text),
        st.booleans().map(Boolean),
    )


def aggregates() -> st.SearchStrategy[Aggregate]:
    """``COUNT(*)``, ``COUNT(S)``, ``MIN(S.price)`` and so on."""
    return st.one_of(
        st.just(Aggregate("COUNT")),
        st.builds(Aggregate, st.just("COUNT"), names()),
        st.builds(Aggregate, st.sampled_from(EVENT_FUNCTIONS[1:]), names(), names()),
    )


def trend_aggregates() -> st.SearchStrategy[TrendAggregate]:
    """``MAX(COUNT(*))``, ``AVG(LAST(S.price) - FIRST(S.price))`` and so on, with sums that have no meaning too."""
    of_attribute = [name for name in VALUE_FUNCTIONS if name not in ("COUNT", "DURATION")]
    part = st.one_of(
        st.builds(ValuePart, st.sampled_from(["COUNT", "DURATION"]), negative=st.booleans()),
        st.builds(ValuePart, st.just("COUNT"), names(), negative=st.booleans()),
        st.builds(ValuePart, st.sampled_from(of_attribute), names(), names(), st.booleans()),
    )
    parts = st.lists(part, min_size=1, max_size=3).map(tuple)
    return st.builds(TrendAggregate, st.sampled_from(TREND_FUNCTIONS), parts)


def computed(max_leaves: int = 5) -> st.SearchStrategy[Expression]:
    """What RETURN may compute: numbers and at least one aggregate under + - * / and functions of one number."""
    return _computed(st.one_of(numbers(), aggregates(), trend_aggregates()), max_leaves).filter(_has_aggregate)


def _computed(leaves: st.SearchStrategy[Expression], max_leaves: int) -> st.SearchStrategy[Expression]:
    def larger(smaller: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.one_of(
            st.builds(Arithmetic, st.sampled_from("+-*/"), smaller, smaller),
            st.builds(Negative, smaller.filter(_keeps_its_minus)),
            st.builds(Call, st.sampled_from(MATH_FUNCTIONS), smaller),
        )

    return st.recursive(leaves, larger, max_leaves=max_leaves)


def _has_aggregate(expression: Expression) -> bool:
    return any(isinstance(node, Aggregate | TrendAggregate) for node, _ in walk(expression))


def expressions(max_leaves: int = 8) -> st.SearchStrategy[Expression]:
    """What WHERE may hold: constants and attributes under every operator."""
    return _expressions(st.one_of(constants(), st.builds(Attribute, names(), names(), st.booleans())), max_leaves)


def having_expressions(max_leaves: int = 8) -> st.SearchStrategy[Expression]:
    """What HAVING may hold: constants, aggregates and names under every operator, and computed values."""
    leaves = st.one_of(constants(), aggregates(), names().map(Name), computed(max_leaves=3))
    return _expressions(leaves, max_leaves)


def _expressions(leaves: st.SearchStrategy[Expression], max_leaves: int) -> st.SearchStrategy[Expression]:
    def larger(smaller: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.one_of(
            st.builds(Arithmetic, st.sampled_from("+-*/%"), smaller, smaller),
            st.builds(Negative, smaller.filter(_keeps_its_minus)),
            st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), smaller, smaller),
            st.builds(Not, smaller),
            st.builds(And, _several(smaller, And)),
            st.builds(Or, _several(smaller, Or)),
        )

    return st.recursive(leaves, larger, max_leaves=max_leaves)


def _keeps_its_minus(operand: Expression) -> bool:
    """An unsigned number would swallow the minus before it."""
    return not isinstance(operand, Number) or repr(operand.value).startswith("-")


def _several(smaller: st.SearchStrategy[Expression], kind: type) -> st.SearchStrategy[tuple[Expression, ...]]:
    return st.lists(smaller.filter(lambda part: not isinstance(part, kind)), min_size=2, max_size=4).map(tuple)


def equivalences() -> st.SearchStrategy[Equivalence]:
    """``[company, P.vehicle]``"""
    attribute = st.builds(EquivalenceAttribute, st.none() | names(), names())
    return st.builds(Equivalence, st.lists(attribute, min_size=1, max_size=3).map(tuple))


def returns() -> st.SearchStrategy[tuple[ReturnAttribute | ReturnValue, ...]]:
    """The columns of RETURN, their names all different."""
    column = st.one_of(
        st.builds(ReturnAttribute, names(), st.none() | names()),
        (aggregates() | trend_aggregates()).map(lambda aggregate: ReturnValue(aggregate, aggregate.default_name)),
        st.builds(ReturnValue, computed(), names()),
    )
    return st.lists(column, min_size=1, max_size=4, unique_by=lambda returned: returned.name).map(tuple)


def windows() -> st.SearchStrategy[Within]:
    """``WITHIN 10 minutes SLIDE 10 seconds``, the slide at most as long as the window."""
    unit = st.sampled_from([1, 1_000, 60_000, 3_600_000, 86_400_000])
    length = st.builds(lambda count, size: count * size, st.integers(1, 1_000), unit)
    pair = st.one_of(st.tuples(length, length), length.map(lambda one: (one, one)))
    return pair.map(lambda two: Within(Duration(max(two)), Duration(min(two))))


def queries() -> st.SearchStrategy[Query]:
    """Whole queries; each optional clause is there or not."""
    conjunct = st.one_of(equivalences(), expressions().filter(lambda condition: not isinstance(condition, And)))
    return st.builds(
        Query,
        returns=returns(),
        pattern=patterns(),
        semantics=st.sampled_from(Semantics),
        maximal=st.booleans(),
        min_length=st.just(1) | st.integers(1, 10_000),
        where=st.lists(conjunct, max_size=3).map(tuple),
        group_by=st.lists(st.builds(GroupAttribute, names(), st.none() | names()), max_size=3).map(tuple),
        having=st.none() | having_expressions(),
        window=st.none() | windows(),
    )
