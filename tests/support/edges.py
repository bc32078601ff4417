"""Random queries over values at the edges of their types, in every place where a value can stand.

    @given(edge_cases())
    def test_every_door_agrees(case: EdgeCase) -> None: ...

Columns: ``x`` integers of some type, ``y`` floats of some width, ``g`` what partitions and groups are made of; NULL is
everywhere. Where doubles are added up, values have one sign, so that 11 digits of a sum are right whatever the order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

INTEGERS: dict[pa.DataType, tuple[int | None, ...]] = {
    pa.int64(): (0, 1, 2**53, 2**53 + 1, 2**63 - 1, None, -1, -(2**53) - 1, -(2**63)),
    pa.uint64(): (0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, None),
    pa.decimal128(38, 0): (0, 1, 2**63, 2**64 + 1, 10**37, 10**37 + 1, None, -(10**37)),
    pa.int8(): (0, 1, 127, None, -1, -128),
}
FLOATS: dict[pa.DataType, tuple[float | None, ...]] = {
    pa.float64(): (0.0, 1.0, 5e-324, 1e-200, 0.1, 2.0**53, 1e308, math.inf, math.nan, None, -0.0, -1e308, -math.inf),
    pa.float32(): (0.0, 1.0, 0.1, 1e-45, 3e38, None, -3e38),
}
KEYS: dict[pa.DataType, tuple[Any, ...]] = {
    pa.int64(): (2**53, 2**53 + 1, None),
    pa.uint64(): (2**63, 2**63 + 1, None),
    pa.decimal128(20, 2): (Decimal("90071992547409.92"), Decimal("90071992547409.93"), None),
    pa.float64(): (0.0, -0.0, math.inf, math.nan, None),
    pa.float32(): (0.1, 0.2, None),
    pa.date32(): (date(1, 1, 1), date(9999, 12, 31), None),
    pa.timestamp("us", "Asia/Kathmandu"): (datetime(2024, 1, 1, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC), None),
    pa.bool_(): (True, False, None),
    pa.string(): ("", "é", "😀", None),
}
TIMES: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "whole seconds": (pa.int64(), (0, 1, 2, 3, 4, 5)),
    "tenths": (pa.float64(), (0.0, 0.1, 0.2, 0.3, 0.6, 0.7, 1.1)),
    "microseconds": (
        pa.timestamp("us", "UTC"),
        tuple(datetime(2024, 1, 1, 0, 0, 0, part, tzinfo=UTC) for part in (0, 1, 100_000, 299_999, 300_000, 999_999)),
    ),
    "before 1970": (
        pa.timestamp("ms"),
        tuple(
            datetime(1969, 12, 31, 23, 59, 58 + at // 2, 500_000 * (at % 2), tzinfo=UTC).replace(tzinfo=None)
            for at in range(4)
        ),
    ),
    "far future": (pa.timestamp("ms", "UTC"), tuple(datetime(9998, 12, 31, 0, 0, at, tzinfo=UTC) for at in range(5))),
}
PATTERNS = (
    "A+",
    "SEQ(A+, B)",
    "(SEQ(A, B))+",
    "A+ OR SEQ(B, A)",
    "SEQ(A, B?)",
    "A{1,2}",
    "SEQ(A, NOT C, B)",
    "SEQ(NOT C, A+)",
    "SEQ(A+, NOT C)",
)
LOCAL = (
    "A.x < 9007199254740993",
    "A.x >= 9223372036854775808 OR A.x <= 1",
    "A.x % 0 = 0 OR A.x != 1",
    "A.x + 1 > A.x",
    "NOT (A.x = 1 AND A.y > 0)",
    "A.x * A.x >= 0",
    "A.y <= 1e308",
    "-A.y < 1",
)
EDGES = (
    "A.x < NEXT({0}).x",
    "A.x >= NEXT({0}).x",
    "A.x = NEXT({0}).x",
    "A.x != NEXT({0}).x",
    "A.g = NEXT({0}).g AND A.x <= NEXT({0}).x",
    "A.x = NEXT({0}).x AND A.y <= NEXT({0}).y",
    "A.y < NEXT({0}).y AND A.x > NEXT({0}).x",
    "A.y = NEXT({0}).y OR A.x < NEXT({0}).x",
    "NEXT({0}).x > A.x OR NEXT({0}).y = 0",
    "NEXT({0}).x = 1 OR A.x = 1",
    "A.x - NEXT({0}).x > 1",
    "A.y <= NEXT({0}).y",
)
WINDOWS = (
    "WITHIN 3 seconds",
    "WITHIN 2500 ms SLIDE 500 ms",
    "WITHIN 300 ms SLIDE 100 ms",
    "WITHIN 1 day",
    "",
)


@dataclass(frozen=True)
class EdgeCase:
    """A query over a typed table."""

    query: str
    events: pa.Table
    numbers: str

    def for_brute_force(self) -> list[dict[str, Any]]:
        """The events as brute force knows values: whole decimals are integers."""
        return [{name: _plain(value) for name, value in row.items()} for row in self.events.to_pylist()]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


@st.composite
def edge_cases(draw: st.DrawFn, *, max_events: int = 7) -> EdgeCase:
    """A query over up to ``max_events`` events."""
    numbers = draw(st.sampled_from(("double", "exact")))
    summed = draw(st.sampled_from((None, "x", "y")))
    x_type, y_type = draw(st.sampled_from(list(INTEGERS))), draw(st.sampled_from(list(FLOATS)))
    g_type = draw(st.sampled_from(list(KEYS)))
    time_type, times = TIMES[draw(st.sampled_from(list(TIMES)))]
    xs = [x for x in INTEGERS[x_type] if summed != "x" or numbers == "exact" or x is None or x >= 0]
    ys = [y for y in FLOATS[y_type] if summed != "y" or y is None or not y < 0]
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from("AAABBC"),
                st.sampled_from(times),
                st.sampled_from(xs),
                st.sampled_from(ys),
                st.sampled_from(KEYS[g_type]),
            ),
            min_size=1,
            max_size=max_events,
        )
    )
    columns = {
        name: pa.array([row[at] for row in rows], type_)
        for at, (name, type_) in enumerate(
            {"type": pa.string(), "time": time_type, "x": x_type, "y": y_type, "g": g_type}.items()
        )
    }
    return EdgeCase(draw(_queries(summed, numbers)), pa.table(columns), numbers)


@st.composite
def _queries(draw: st.DrawFn, summed: str | None, numbers: str) -> str:
    pattern = draw(st.sampled_from(PATTERNS))
    follower = "B" if pattern in ("SEQ(A+, B)", "(SEQ(A, B))+", "SEQ(A, B?)", "SEQ(A, NOT C, B)") else "A"
    conditions = draw(st.lists(st.sampled_from(LOCAL), max_size=1))
    if pattern not in ("A+ OR SEQ(B, A)",):
        conditions += draw(st.lists(st.sampled_from(EDGES), max_size=1).map(lambda e: [c.format(follower) for c in e]))
    grouping = draw(st.sampled_from(("", "", "[g]", "[A.g]", "GROUP-BY g", "[g] GROUP-BY g")))
    if "[" in grouping:
        conditions.append(grouping.split(" GROUP")[0])
    group = "GROUP-BY g" if "GROUP" in grouping else ""
    columns = ["g"] if group else []
    columns += ["COUNT(*) AS n", "COUNT(A) AS a", "MIN(A.x) AS low", "MAX(A.x) AS high", "MAX(A.y) AS top"]
    if summed is not None:
        columns += [f"SUM(A.{summed}) AS total", f"AVG(A.{summed}) AS mean"]
    semantics = draw(st.sampled_from(("", "", "SEMANTICS skip-till-next-match", "SEMANTICS contiguous")))
    having = draw(st.sampled_from(("", "", "", "HAVING MAX(A.x) > 9007199254740992", "HAVING COUNT(*) >= 2")))
    where = f"WHERE {' AND '.join(f'({c})' if ' OR ' in c else c for c in conditions)}" if conditions else ""
    clauses = (f"RETURN {', '.join(columns)}", f"PATTERN {pattern}", semantics, where, group, having)
    return "\n".join([*filter(None, clauses), draw(st.sampled_from(WINDOWS))]).strip()
