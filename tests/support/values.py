"""Random values of trends and computed columns, as text, for the random queries of ``streams.py``.

All of them have a meaning. Computed columns never subtract what is rounded, so that 12 digits of a double can be
compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from support.choices import one_of

ATTRIBUTES = ("x", "z", "y")
"""Integers, integers that are often NULL, and floats."""


@st.composite
def value_parts(draw: st.DrawFn, names: Sequence[str]) -> str:
    """A value of one trend that may stand in sums and under every aggregate."""
    name, attribute = draw(one_of(names)), draw(one_of(ATTRIBUTES))
    forms = ("COUNT(*)", "COUNT({0})", "LAST({0}.{1})", "FIRST({0}.{1})", "SUM({0}.{1})", "DURATION(*)")
    return draw(one_of(forms)).format(name, attribute)


@st.composite
def trend_aggregates(draw: st.DrawFn, names: Sequence[str]) -> str:
    """``MAX(COUNT(*))``, ``AVG(LAST(S.x) - FIRST(S.x))``, ``MAX(MIN(S.z))``."""
    if draw(one_of((False, False, False, True))):
        outer, inner = draw(one_of(("MIN", "MAX"))), draw(one_of(("MIN", "MAX")))
        return f"{outer}({inner}({draw(one_of(names))}.{draw(one_of(ATTRIBUTES))}))"
    outer = draw(one_of(("MAX", "MIN", "SUM", "AVG", "STDDEV")))
    parts = draw(st.lists(value_parts(names), min_size=1, max_size=draw(one_of((1, 1, 2, 2, 3)))))
    value = draw(one_of(("", "", "", "-"))) + parts[0]
    for part in parts[1:]:
        value += f" {draw(one_of(('-', '+')))} {part}"
    return f"{outer}({value})"


@st.composite
def computed_columns(draw: st.DrawFn, names: Sequence[str]) -> str:
    """An expression over aggregates; the caller adds AS."""
    one, other = draw(one_of(names)), draw(one_of(names))
    forms = (
        "COUNT({0}) / COUNT(*)",
        "LOG2(COUNT(*))",
        "LOG10(COUNT(*) * COUNT({0}) + 1)",
        "LN(COUNT({0}))",
        "SQRT(COUNT({0}) * 2)",
        "ABS(SUM({0}.z))",
        "-SUM({0}.x) * 2 + COUNT({1})",
        "(COUNT(*) - 1) / (COUNT({0}) - 1)",
        "SUM({0}.y) / 4 - 0.5",
        "SQRT(MIN({0}.y))",
        "LN(MAX({0}.z))",
        "SUM({0}.x) / SUM({1}.z)",
        "MAX(COUNT(*)) - MIN(COUNT(*))",
        "MAX(DURATION(*)) / MAX(COUNT(*))",
        "ABS(MIN(LAST({0}.x) - FIRST({0}.x)))",
        "STDDEV(COUNT(*)) / 2",
        "SUM(SUM({0}.z)) / SUM(COUNT({1}))",
    )
    return draw(one_of(forms)).format(one, other)


@st.composite
def value_conditions(draw: st.DrawFn, names: Sequence[str]) -> str:
    """What HAVING may ask of values of trends and of computed values."""
    name = draw(one_of(names))
    forms = (
        "MAX(COUNT(*)) > 1",
        "COUNT({0}) / COUNT(*) >= 1",
        "LOG2(COUNT(*)) < 2",
        "MIN(LAST({0}.x) - FIRST({0}.x)) <= 0 OR n = 1",
        "ABS(SUM(SUM({0}.z))) > 2",
        "NOT MAX(MIN({0}.z)) = 1",
        "STDDEV(COUNT(*)) = 0",
    )
    return draw(one_of(forms)).format(name)
