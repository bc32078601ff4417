"""Random small queries with random small streams, for tests that compare an engine with brute force.

    @given(cases())
    def test_the_engine_agrees_with_brute_force(case: Case) -> None: ...

Everything is drawn from choices, the simplest first, so that a failing case shrinks to a short query over few
events. Most queries are legal; the rest is for the caller to ``assume`` away. Sizes keep brute force at
milliseconds: the more trends a pattern can have, the fewer events.

The events have the columns type, time, x (integer), y (float), s (text), b (boolean), g (integer) and h
(text); all but type and time may be NULL, as None or as a missing key. With ``values=True``, queries also have
values of trends, MAXIMAL, computed columns and ``GROUP-BY E.attr``, and events an integer z that is often NULL.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from greta.lang.nodes import (
    Atom,
    Conjunction,
    Disjunction,
    Maybe,
    Negation,
    Pattern,
    Plus,
    Repeat,
    Seq,
    Star,
)
from greta.lang.printer import print_pattern
from greta_research.brute_force.patterns import Rest, atoms, branches, steps
from support.choices import one_of
from support.events import TYPES, streams
from support.values import computed_columns, trend_aggregates, value_conditions


@dataclass(frozen=True)
class Case:
    """A query over a stream. ``flags`` name what it has: AND, NOT, NEXT, SCOPE, HAVING, …"""

    query: str
    events: list[dict[str, object]] = field(default_factory=list)
    flags: frozenset[str] = frozenset()


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    negation: bool = True,
    conjunction: bool = True,
    scopes: bool = True,
    values: bool = False,
    max_events: int = 8,
) -> Case:
    """A query and a stream for it. Scopes and an outermost AND never meet in one query.

    ``values``: nearly every query has a value of trends, MAXIMAL or a computed column, and none an outermost AND.
    """
    pattern = draw(patterns(negation=negation, conjunction=conjunction and not values))
    maximal = values and draw(one_of((False, False, True)))
    if maximal:
        pattern = Plus(next(atoms(pattern, negative=False)))
    flags = {type(node).__name__ for node in _nodes(pattern)} & {"Conjunction", "Negation", "Disjunction"}
    flags = {{"Conjunction": "AND", "Negation": "NOT", "Disjunction": "OR"}[flag] for flag in flags}

    where, grouped = draw(_equivalences(pattern, scopes=scopes and "AND" not in flags))
    predicates = draw(st.lists(_predicates(pattern), max_size=draw(one_of((1, 1, 2, 3))), unique=True))
    if values:
        grouped = [draw(_with_variable(name, pattern)) for name in grouped]
    returned = draw(st.permutations([name for name in grouped if draw(st.booleans())]))
    aggregates = draw(st.lists(_aggregates(pattern), max_size=1 if values else 4, unique=True))
    if values:
        aggregates += draw(_values(pattern))
    semantics = draw(one_of(("", "", "skip-till-next-match", "contiguous")))
    if maximal:
        semantics = draw(one_of(("skip-till-next-match", "contiguous")))
    min_length = draw(one_of((1, 1, 1, 1, 2, 3)))
    conditions = _having(pattern, [name.split(".")[-1] for name in grouped])
    if values:
        conditions |= value_conditions(_names(pattern, negative=False))
    having = draw(st.none() | st.none() | st.none() | conditions)
    window = draw(
        st.none()
        | one_of(
            (
                "WITHIN 10 seconds",
                "WITHIN 6 seconds SLIDE 2 seconds",
                "WITHIN 7 seconds SLIDE 3 seconds",
                "WITHIN 4 seconds SLIDE 1 second",
                "WITHIN 4500 ms SLIDE 1500 ms",
            )
        )
    )
    conjuncts = where + predicates
    clauses = (
        ("RETURN", ", ".join([*returned, "COUNT(*) AS n", *aggregates])),
        ("PATTERN", print_pattern(pattern)),
        ("SEMANTICS", semantics),
        ("", "MAXIMAL" if maximal else ""),
        ("MIN LENGTH", str(min_length) if min_length > 1 else ""),
        ("WHERE", " AND ".join(conjuncts)),
        ("GROUP-BY", ", ".join(grouped)),
        ("HAVING", having or ""),
        ("", window or ""),
    )
    flags |= {"SCOPE"} if any("." in part for part in (*where, *grouped)) else set()
    flags |= {"MAXIMAL"} if maximal else set()
    flags |= {"VALUES"} if values else set()
    flags |= {"NEXT"} if semantics == "skip-till-next-match" else set()
    flags |= {"CONTIGUOUS"} if semantics == "contiguous" else set()
    flags |= {name for name, text in clauses if name in {"WHERE", "GROUP-BY", "HAVING", "MIN LENGTH"} and text}
    flags |= {"WITHIN"} if window else set()
    return Case(
        "\n".join(f"{name} {text}".strip() for name, text in clauses if text),
        draw(streams(pattern, max_events=max_events, values=values)),
        frozenset(flags),
    )


@st.composite
def patterns(draw: st.DrawFn, *, negation: bool = True, conjunction: bool = True) -> Pattern:
    """A whole pattern: all operators, repeated types, NOT where it may stand, sometimes an outermost AND."""
    if conjunction and draw(one_of((False,) * 7 + (True,))):
        return Conjunction(draw(_choices(negation=False)), draw(_choices(negation=False)))
    return draw(_choices(negation=negation and draw(st.booleans())))


@st.composite
def _choices(draw: st.DrawFn, *, negation: bool) -> Pattern:
    few = (("A", "B"), ("A", "B", "C"), ("A",))
    places = _Places(distinct=negation, types=TYPES if negation else draw(one_of(few)))
    count = draw(one_of((1, 1, 1, 2)))
    if negation:
        parts = [draw(_branches(places)) for _ in range(count)]
    else:
        parts = [draw(_operators(places, depth=2)) for _ in range(count)]
    return parts[0] if count == 1 else Disjunction(tuple(_flat(parts)))


class _Places:
    """Hands out atoms.

    A pattern with NOT must be read in one way alone, so there every atom gets a variable of its own
    (``distinct``); elsewhere variables come back, and types have up to two.
    """

    def __init__(self, *, distinct: bool, types: tuple[str, ...] = TYPES) -> None:
        self.distinct = distinct
        self.types = types
        self.taken: set[str] = set()

    def draw(self, draw: st.DrawFn) -> Atom:
        event_type = draw(one_of(self.types))
        names = (event_type, f"{event_type.lower()}1", f"{event_type.lower()}2", f"{event_type.lower()}3")
        if not self.distinct:
            return Atom(event_type, draw(one_of((names[0], names[0], names[1]))))
        free = [name for name in names if name not in self.taken] or [f"{event_type.lower()}{len(self.taken) + 4}"]
        variable = draw(one_of(free[:2]))
        self.taken.add(variable)
        return Atom(event_type, variable)


@st.composite
def _operators(draw: st.DrawFn, places: _Places, depth: int) -> Pattern:
    """A pattern without NOT, as wild as the language allows."""
    kind = draw(one_of(("atom", "+", "SEQ", "OR", "SEQ+", "?", "*", "{n}"))) if depth else "atom"
    again = _operators(places, depth - 1) if depth else st.nothing()
    match kind:
        case "atom":
            atom = places.draw(draw)
            return Plus(atom) if draw(st.booleans()) else atom
        case "+":
            return Plus(draw(again))
        case "?":
            return Maybe(draw(again))
        case "*":
            return Star(draw(again))
        case "{n}":
            low, high = draw(one_of(((1, 2), (2, 2), (2, None), (0, 2), (2, 3), (1, None))))
            return Repeat(draw(again), low, high)
        case "OR":
            return Disjunction(tuple(_flat([draw(again), draw(again)])))
        case _:
            parts = tuple(draw(again) for _ in range(draw(one_of((2, 2, 3)))))
            return Plus(Seq(parts)) if kind == "SEQ+" else Seq(parts)


@st.composite
def _branches(draw: st.DrawFn, places: _Places) -> Pattern:
    """A branch of a pattern with NOT: at its edges, in the middle, or (by chance) nowhere."""
    leading = [draw(_negations(places))] if draw(one_of((False, False, True))) else []
    trailing = [draw(_negations(places))] if draw(one_of((False, False, True))) else []
    first = draw(_plain(places))
    if draw(st.booleans()):
        middle = [draw(_negations(places))] if draw(one_of((True, True, False))) else []
        body: list[Pattern] = [first, *middle, draw(_plain(places))]
        if not leading and not trailing and draw(st.booleans()):
            whole = Seq(tuple(body))
            forms: list[Pattern] = [Plus(whole), Star(whole), Maybe(whole)]
            return draw(one_of(forms))
        if draw(one_of((False, False, True))):
            body = [Plus(Seq(tuple(body)))]
    else:
        body = [first]
    parts = (*leading, *body, *trailing)
    return Seq(parts) if len(parts) > 1 else parts[0]


@st.composite
def _plain(draw: st.DrawFn, places: _Places) -> Pattern:
    """A part that always matches an event, in one way alone: a neighbour for NOT."""
    kind = draw(one_of(("atom", "+", "SEQ", "OR", "SEQ+", "?SEQ", "{n}")))
    atom = places.draw(draw)
    match kind:
        case "atom":
            return atom
        case "+":
            return Plus(atom)
        case "{n}":
            return Repeat(atom, *draw(one_of(((2, 2), (1, 2), (2, None)))))
        case "OR":
            return Disjunction((atom, Plus(places.draw(draw))))
        case "?SEQ":
            optional = Maybe(atom) if draw(st.booleans()) else Star(atom)
            return Seq((optional, places.draw(draw)))
        case _:
            pair = Seq((atom, Plus(places.draw(draw))))
            return Plus(pair) if kind == "SEQ+" else pair


@st.composite
def _negations(draw: st.DrawFn, places: _Places) -> Negation:
    kind = draw(one_of(("atom", "atom", "SEQ", "SEQ NOT", "OR", "+")))
    atom = places.draw(draw)
    match kind:
        case "atom":
            return Negation(atom)
        case "+":
            return Negation(Plus(atom))
        case "OR":
            return Negation(Disjunction((atom, places.draw(draw))))
        case "SEQ NOT":
            return Negation(Seq((atom, Negation(places.draw(draw)), places.draw(draw))))
        case _:
            return Negation(Seq((atom, places.draw(draw))))


@st.composite
def _equivalences(draw: st.DrawFn, pattern: Pattern, *, scopes: bool) -> tuple[list[str], list[str]]:
    """(conjuncts, grouped attributes)."""
    agreed = draw(st.lists(one_of(("g", "h")), max_size=2, unique=True))
    grouped = draw(st.lists(one_of(("g", "h")), max_size=2, unique=True))
    if scopes and draw(one_of((False, False, False, True))):
        name = draw(one_of(_names(pattern, negative=True)))
        free = [attribute for attribute in ("h", "g", "x", "s") if attribute not in agreed]
        agreed.append(f"{name}.{draw(one_of(free))}")
    return ([f"[{', '.join(draw(st.permutations(agreed)))}]"] if agreed else []), grouped


@st.composite
def _predicates(draw: st.DrawFn, pattern: Pattern) -> str:
    """A conjunct: local, or between variables that can be adjacent."""
    pairs = _adjacent(pattern)
    if not pairs or draw(st.booleans()):
        v = draw(one_of(_names(pattern, negative=True)))
        return draw(
            one_of(
                (
                    f"{v}.x > 1",
                    f"{v}.x != 2",
                    f"{v}.y <= 1.0",
                    f"{v}.s = 'p'",
                    f"{v}.s >= 'p'",
                    f"{v}.b = TRUE",
                    f"{v}.x % 2 = 1",
                    f"{v}.y % 2 < 1",
                    f"{v}.x / 2 >= {v}.y",
                    f"({v}.x = 1 OR {v}.y > 0)",
                    f"NOT ({v}.x = 1 AND {v}.b = FALSE)",
                )
            )
        )
    p, q = draw(one_of(pairs))
    compare = one_of(("<", "<=", ">", ">=", "=", "!="))
    one, other = draw(compare), draw(compare)
    return draw(
        one_of(
            (
                f"{p}.x {one} NEXT({q}).x",
                f"{p}.y {one} NEXT({q}).y",
                f"{p}.x {one} NEXT({q}).y",
                f"NEXT({q}).x {one} {p}.x",
                f"{p}.s {one} NEXT({q}).s",
                f"{p}.b = NEXT({q}).b",
                f"{p}.b != NEXT({q}).b",
                f"{p}.x * 2 {one} NEXT({q}).x + 1",
                f"-{p}.y - 0.5 {one} NEXT({q}).x * -1",
                f"{p}.x {one} NEXT({q}).x AND {p}.y {other} NEXT({q}).y",
                f"({p}.x {one} NEXT({q}).x OR {p}.s {other} NEXT({q}).s)",
                f"({p}.x {one} NEXT({q}).x OR {p}.b = TRUE)",
                f"NOT ({p}.x {one} NEXT({q}).x AND {p}.s {other} NEXT({q}).s)",
                f"({p}.x + NEXT({q}).x) % 2 = 0",
                f"{p}.x * NEXT({q}).x {one} 3",
                f"{p}.x / NEXT({q}).x {one} {p}.y",
            )
        )
    )


@st.composite
def _aggregates(draw: st.DrawFn, pattern: Pattern) -> str:
    v = draw(one_of(_names(pattern, negative=False)))
    functions = ("COUNT({})", "SUM({}.x)", "MIN({}.x)", "MAX({}.y)", "AVG({}.x)", "SUM({}.y)", "MIN({}.s)")
    return draw(one_of((*functions, "MAX({}.x)", "MIN({}.y)", "MAX({}.s)", "AVG({}.y)"))).format(v)


@st.composite
def _values(draw: st.DrawFn, pattern: Pattern) -> list[str]:
    """Values of trends and computed columns, with names of their own."""
    names = _names(pattern, negative=False)
    several = draw(st.lists(trend_aggregates(names) | computed_columns(names), min_size=1, max_size=4))
    return [f"{text} AS v{at}" for at, text in enumerate(several)]


@st.composite
def _with_variable(draw: st.DrawFn, attribute: str, pattern: Pattern) -> str:
    """``g`` or ``E.g``, for GROUP-BY."""
    if draw(one_of((True, True, False))):
        return attribute
    return f"{draw(one_of(_names(pattern, negative=False)))}.{attribute}"


@st.composite
def _having(draw: st.DrawFn, pattern: Pattern, grouped: list[str]) -> str:
    v = draw(one_of(_names(pattern, negative=False)))
    choices = [
        "COUNT(*) > 1",
        "n <= 3",
        f"SUM({v}.x) > 2",
        f"MIN({v}.y) < 1.0 OR n > 2",
        f"AVG({v}.x) >= COUNT({v})",
    ]
    choices += [f"{name} = {value}" for name, value in (("g", 1), ("h", "'u'")) if name in grouped]
    return draw(one_of(choices))


def _names(pattern: Pattern, *, negative: bool) -> list[str]:
    """The variables, and the types that have variables but are none."""
    found = list(atoms(pattern, negative=negative))
    return list(dict.fromkeys([atom.variable for atom in found] + [atom.event_type for atom in found]))


def _adjacent(pattern: Pattern) -> list[tuple[str, str]]:
    """Pairs of variables that a trend, or a match of a NOT, can have side by side."""
    if isinstance(pattern, Conjunction):
        return list(dict.fromkeys(_adjacent(pattern.left) + _adjacent(pattern.right)))
    pairs: dict[tuple[str, str], None] = {}
    bodies = [branch.body for branch in branches(pattern)]
    bodies += [(node.body,) for node in _nodes(pattern) if isinstance(node, Negation)]
    for body in bodies:
        todo: list[tuple[str, Rest]] = [(step.atom.variable, step.rest) for step in steps(body)]
        seen = set(todo)
        while todo:
            variable, rest = todo.pop()
            for step in steps(rest):
                pairs[variable, step.atom.variable] = None
                after = (step.atom.variable, step.rest)
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
    return list(pairs)


def _nodes(pattern: Pattern) -> list[Pattern]:
    match pattern:
        case Atom():
            below: tuple[Pattern, ...] = ()
        case Seq(parts=parts) | Disjunction(parts=parts):
            below = parts
        case Conjunction(left=left, right=right):
            below = (left, right)
        case _:
            below = (pattern.body,)
    return [pattern, *(node for part in below for node in _nodes(part))]


def _flat(parts: list[Pattern]) -> list[Pattern]:
    """OR directly in OR is one OR, as the parser reads it."""
    return [inner for part in parts for inner in (part.parts if isinstance(part, Disjunction) else (part,))]
