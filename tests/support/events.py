"""Random small streams for a pattern: rows of a table of all kinds of columns, most with a trend planted in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import pyarrow as pa
from hypothesis import strategies as st

from greta.lang.nodes import Conjunction, Maybe, Pattern, Repeat, Star
from greta_research.brute_force.patterns import Rest, atoms, branches, steps
from support.choices import one_of

SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "time": pa.float64(),
        "x": pa.int64(),
        "y": pa.float64(),
        "s": pa.string(),
        "b": pa.bool_(),
        "g": pa.int64(),
        "h": pa.string(),
        "z": pa.int64(),
    }
)
"""The columns of all streams."""

TYPES = ("A", "B", "C", "D")
OTHER_TYPE = "Z"
"""A type that no pattern speaks of."""

Options = Sequence[int | float | str | bool | None]

_INTEGERS = (1, 2, 3, 0, 4, 1, 2, 3, None)
_SPARSE_INTEGERS = (1, None, 5, -3, 0, None, 2)
_FLOATS = (1.0, 2.0, 0.5, 0.0, 3.5, 1.0, 2.0, -1.5, None)
_TEXTS = ("p", "q", "r", "p", "q", "", None)
_BOOLEANS = (True, False, True, False, True, None)
INTEGERS, SPARSE_INTEGERS, FLOATS = one_of(_INTEGERS), one_of(_SPARSE_INTEGERS), one_of(_FLOATS)
TEXTS, BOOLEANS = one_of(_TEXTS), one_of(_BOOLEANS)

_MANY = 2_000


def _rows(options: Mapping[str, Options]) -> st.SearchStrategy[dict[str, object]]:
    """One of many rows with an option in each column, the simplest first.

    Whole rows, because drawing every column of every event took longer than all that is tested with them.
    """
    draw = Random(0)
    simplest: dict[str, object] = {name: choice[0] for name, choice in options.items()}
    drawn = [{name: draw.choice(choice) for name, choice in options.items()} for _ in range(_MANY)]
    return st.sampled_from([simplest, *drawn])


_COLUMNS = {
    "x": _INTEGERS,
    "y": _FLOATS,
    "s": _TEXTS,
    "b": _BOOLEANS,
    "g": (1, 1, 1, 2, 2, None),
    "h": ("u", "u", "u", "v", "v", None),
}
_OF_TRENDS = _COLUMNS | {"g": (1,) * 9 + (2,), "h": ("u",) * 9 + ("v",)}
_Z = {"z": _SPARSE_INTEGERS}
_NOISE = {values: _rows(_COLUMNS | (_Z if values else {})) for values in (False, True)}
_PLANTED = {values: _rows(_OF_TRENDS | (_Z if values else {})) for values in (False, True)}
"""Rows by whether queries have values of trends."""


@st.composite
def streams(draw: st.DrawFn, pattern: Pattern, *, max_events: int = 8, values: bool = False) -> list[dict[str, object]]:
    """Events for a pattern, with ties and out of order; fewer where a pattern can have many trends.

    Some are planted: they spell a word of the pattern, so that most streams have a trend. The rest is noise.
    """
    variables = {(atom.event_type, atom.variable) for atom in atoms(pattern)}
    crowded = max(Counter(event_type for event_type, _ in variables).values()) > 1
    size = max_events - 2 * crowded - 2 * isinstance(pattern, Conjunction)
    sides = [pattern.left, pattern.right] if isinstance(pattern, Conjunction) else [pattern]
    half = draw(one_of((1, 1, 0.5)))
    events: list[dict[str, object]] = []
    for side in sides:
        time = draw(st.integers(0, 2))
        for event_type in draw(_words(side))[: size - len(events)]:
            events.append({"type": event_type, "time": time * half} | draw(_PLANTED[values]))
            time += draw(one_of((1, 1, 2)))
    types = one_of([*dict.fromkeys(atom.event_type for atom in atoms(pattern)), OTHER_TYPE])
    noise = st.tuples(types, st.integers(0, 9), _NOISE[values]).map(
        lambda drawn: {"type": drawn[0], "time": drawn[1] * half} | drawn[2]
    )
    left = size - len(events)
    events += draw(st.lists(noise, max_size=left) | st.lists(noise, min_size=left // 2, max_size=left))
    if draw(st.booleans()):
        events = draw(st.permutations(events))
    if draw(st.booleans()):
        events = [{name: value for name, value in event.items() if value is not None} for event in events]
    return events


@st.composite
def _words(draw: st.DrawFn, pattern: Pattern) -> list[str]:
    """The types of a trend of the pattern, or of its beginning."""
    rest = draw(one_of(branches(pattern))).body
    word: list[str] = []
    while (following := steps(rest)) and len(word) < 6:
        if word and _is_done(rest) and draw(st.booleans()):
            break
        step = draw(one_of(following))
        word.append(step.atom.event_type)
        rest = step.rest
    return word


def _is_done(rest: Rest) -> bool:
    """Whether a word may end here, as far as that is easily told: only parts that may be left out follow."""
    return all(isinstance(part, Star | Maybe) or (isinstance(part, Repeat) and not part.at_least) for part in rest)
