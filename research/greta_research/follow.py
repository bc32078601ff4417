"""Events and one of their numbers → what the columns of an answer follow: rank correlations, as a Markdown table.

For every key and window the columns of four queries (falling, rising, unbroken falling runs, events) are compared with
four plain facts about the same window: how many events it has, how far the number moved from its first event to its
last, how far it ranged, and how far it moved in the window after. Keys are never mixed: a correlation is taken within
each that has windows enough, and the table shows the mean over the keys with the least and the greatest. A value or
fact that never changes has no correlation; where no key has one, the table has a dash.

    python -m greta_research.follow trades.parquet --attribute price --by company --within '10 minutes'
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

import greta
from greta.datasets import load

LEAST_EVENTS = 30
"""Windows with fewer events are left out: they say little about either side."""

LEAST_WINDOWS = 5
"""Keys with fewer windows are left out: ranks of four say nothing."""

FACTS = {
    "events": "number of events",
    "change": "last minus first",
    "range": "highest minus lowest",
    "after": "last minus first, next window",
}
VALUES = {
    "fall_bits": "falls: `LOG2(COUNT(*))`",
    "rise_bits": "rises: `LOG2(COUNT(*))`",
    "bits": "falls minus rises, both `LOG2(COUNT(*))`",
    "fall_longest": "longest fall: `MAX(COUNT(*))`",
    "longest": "longest fall minus longest rise",
    "fall_steepest": "steepest fall: `MIN(LAST - FIRST)`",
    "steepest": "steepest fall plus steepest rise",
    "fall_seconds": "mean duration of a fall: `AVG(DURATION(*))`",
    "runs": "unbroken falls: `COUNT(*)`, `MAXIMAL`",
}


@dataclass(frozen=True, slots=True)
class Correlation:
    """The rank correlation of a value with a fact, within each key: the mean, the least and the greatest."""

    mean: float
    least: float
    greatest: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ({self.least:+.2f} to {self.greatest:+.2f})"


def queries(type_: str, attribute: str, by: str, within: str) -> dict[str, str]:
    """The four queries, by name.

    >>> print(queries("Stock", "price", "company", "1 minute")["events"])
    RETURN company, COUNT(*) AS events, MIN(E.price) AS low, MAX(E.price) AS high PATTERN Stock E WHERE [company] \
GROUP-BY company WITHIN 1 minute
    """
    x = f"E.{attribute}"
    values = (
        "LOG2(COUNT(*)) AS bits, MAX(COUNT(*)) AS longest, AVG(DURATION(*)) AS seconds, "
        f"{{}}(LAST({x}) - FIRST({x})) AS steepest"
    )
    trends = f"PATTERN {type_} E+ {{}} WHERE [{by}] AND {x} {{}} NEXT(E).{attribute} GROUP-BY {by} WITHIN {within}"
    return {
        "fall": f"RETURN {by}, {values.format('MIN')} {trends.format('', '>')}",
        "rise": f"RETURN {by}, {values.format('MAX')} {trends.format('', '<')}",
        "runs": f"RETURN {by}, COUNT(*) AS runs {trends.format('SEMANTICS contiguous MAXIMAL MIN LENGTH 2', '>')}",
        "events": f"RETURN {by}, COUNT(*) AS events, MIN({x}) AS low, MAX({x}) AS high PATTERN {type_} E WHERE [{by}] "
        f"GROUP-BY {by} WITHIN {within}",
    }


def windows(events: pa.Table, *, attribute: str, by: str, type: str, within: str) -> pd.DataFrame:  # noqa: A002
    """A row per key and window with enough events, with a column per value and fact; NULL where there is none."""
    answer = greta.aggregate(events, queries(type, attribute, by, within)).to_pandas()
    key = [by, "window_start"]
    parts = {name: part.set_index(key) for name, part in answer.groupby("query")}
    rows = parts["events"][["events", "low", "high", "window_end"]].copy()
    for name in ("bits", "longest", "seconds", "steepest"):
        rows[f"fall_{name}"], rows[f"rise_{name}"] = parts["fall"][name], parts["rise"][name]
    rows["bits"] = rows["fall_bits"] - rows["rise_bits"]
    rows["longest"] = rows["fall_longest"] - rows["rise_longest"]
    rows["steepest"] = rows["fall_steepest"] + rows["rise_steepest"]
    rows["runs"] = parts["runs"]["runs"].reindex(rows.index).fillna(0)
    rows["range"] = rows["high"] - rows["low"]
    rows = rows.join(_changes(events, attribute, by, rows.reset_index()))
    rows = rows.reset_index().sort_values(key)
    following = rows.groupby(by)[["window_start", "change"]].shift(-1)
    rows["after"] = following["change"].where(following["window_start"] == rows["window_end"])
    enough: pd.DataFrame = rows[rows["events"] >= LEAST_EVENTS]
    return enough


def _changes(events: pa.Table, attribute: str, by: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Last minus first value of every key and window that is among the rows; windows lie side by side."""
    ordered = events.select([by, "time", attribute]).to_pandas().sort_values("time", kind="stable")
    starts = np.sort(rows["window_start"].unique())
    at = np.searchsorted(starts, ordered["time"].to_numpy(), side="right") - 1
    ordered["window_start"] = starts[at]
    if isinstance(rows["window_start"].dtype, pd.DatetimeTZDtype):
        ordered["window_start"] = pd.DatetimeIndex(ordered["window_start"]).tz_convert("UTC")
    groups = ordered.groupby([by, "window_start"], observed=True)[attribute]
    return pd.DataFrame({"change": groups.last() - groups.first()})


def correlations(rows: pd.DataFrame, by: str) -> dict[tuple[str, str], Correlation]:
    """Of every value with every fact, within each key; those that no key has are left out."""
    ranked = rows.groupby(by)[[*VALUES, *FACTS]].rank()
    per_key = [
        ranked.loc[part.index].corr(min_periods=LEAST_WINDOWS - 1)
        for _, part in rows.groupby(by)
        if len(part) >= LEAST_WINDOWS
    ]
    answer = {}
    for value in VALUES:
        for fact in FACTS:
            found = [matrix[fact].to_dict()[value] for matrix in per_key]
            there = [one for one in found if not math.isnan(one)]
            if there:
                answer[value, fact] = Correlation(float(np.mean(there)), min(there), max(there))
    return answer


def table(rows: pd.DataFrame, by: str) -> str:
    """The correlations in Markdown."""
    found = correlations(rows, by)
    lines = ["| | " + " | ".join(FACTS.values()) + " |", "|---" * (len(FACTS) + 1) + "|"]
    for value, text in VALUES.items():
        lines.append("| " + " | ".join([text, *(str(found.get((value, fact), "–")) for fact in FACTS)]) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table for a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--attribute", default="price")
    parser.add_argument("--by", default="company", help="the attribute that all events of a trend agree on")
    parser.add_argument("--type", default="Stock")
    parser.add_argument("--within", default="10 minutes")
    asked = parser.parse_args(arguments)
    events = load(asked.file, columns=[asked.attribute, asked.by])
    rows = windows(events, attribute=asked.attribute, by=asked.by, type=asked.type, within=asked.within)
    counted = pc.sum(pc.equal(events["type"], asked.type)).as_py()
    print(f"{counted:,} events, {len(rows)} windows of {asked.within}, {rows[asked.by].nunique()} keys")
    print(f"most trends: 2^{rows[['fall_bits', 'rise_bits']].max().max():.1f}\n")
    print(table(rows, asked.by))


if __name__ == "__main__":
    main()
