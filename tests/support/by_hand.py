"""Short streams and their trends by brute force, for counts made by hand."""

from __future__ import annotations

from greta_research.brute_force import aggregate, trends


def stream(line: str, **columns: list[object]) -> list[dict[str, object]]:
    """``stream("a1 b2", x=[5, 6])``: an A at time 1 with x = 5, then a B at time 2 with x = 6."""
    events: list[dict[str, object]] = [{"type": word[0].upper(), "time": int(word[1:])} for word in line.split()]
    for name, values in columns.items():
        assert len(values) == len(events)
        for event, value in zip(events, values, strict=True):
            event[name] = value
    return events


def count(events: list[dict[str, object]], query: str) -> object:
    """COUNT(*) of a query without groups and windows; 0 where there is no row."""
    rows = aggregate(events, f"RETURN COUNT(*) AS n PATTERN {query}")
    assert len(rows) <= 1
    return rows[0]["n"] if rows else 0


def words(events: list[dict[str, object]], query: str) -> list[str]:
    """All trends, written as the times of their events with the variables: ``"A1 B2"``."""
    return sorted(
        " ".join(f"{variable}{events[index]['time']}" for index, variable in trend)
        for found in trends(events, f"RETURN COUNT(*) PATTERN {query}")
        for trend in found.trends
    )
