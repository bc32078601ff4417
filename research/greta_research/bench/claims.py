"""The promises, checked against one directory of runs; each says what was measured, whether or not it holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from greta_research.bench.memory import FLOOR
from greta_research.bench.results import Run


@dataclass(frozen=True, slots=True)
class Claim:
    """``holds`` is None where the runs do not tell."""

    text: str
    measured: str
    holds: bool | None


def claims(runs: Iterable[Run]) -> list[Claim]:
    """All claims in a fixed order."""
    table = {(run.experiment, run.x, run.strategy): run for run in runs}
    found = [_agreement(table)]
    for experiment in ("events-falling", "events-market", "events-negation"):
        found += [_explodes(table, experiment, name) for name in ("flat", "sase", "cet")]
        found.append(_linear(table, experiment))
        found += [_faster(table, experiment, name) for name in ("sase", "cet")]
        found += [_leaner(table, experiment, name) for name in ("sase", "cet")]
    found += [_flat(table, name) for name in ("selectivity-100k", "groups-100k")]
    found.append(_graph(table))
    return found


_Table = dict[tuple[str, str, str], Run]


def _of(table: _Table, experiment: str, strategy: str) -> list[Run]:
    runs = [run for (e, _, s), run in table.items() if e == experiment and s == strategy]
    return sorted(runs, key=lambda run: run.place)


def _finished(table: _Table, experiment: str, strategy: str) -> list[Run]:
    return [run for run in _of(table, experiment, strategy) if run.status == "finished"]


def _agreement(table: _Table) -> Claim:
    checks: dict[tuple[str, str], dict[str, str]] = {}
    for (experiment, x, strategy), run in table.items():
        if run.check is not None:
            checks.setdefault((experiment, x), {})[strategy] = run.check
    shared = {place: found for place, found in checks.items() if len(found) > 1}
    wrong = [f"{experiment} {x}" for (experiment, x), found in shared.items() if not _agree(found.values())]
    measured = f"{len(shared) - len(wrong)} of {len(shared)} places agree" + (
        f"; not {', '.join(wrong)}" if wrong else ""
    )
    return Claim("All strategies that finish return the same totals", measured, not wrong if shared else None)


def _agree(checks: Iterable[str]) -> bool:
    """Doubles round in their own order, and overflow to infinity where exact numbers do not."""
    numbers = [float(check) for check in checks]
    finite = [number for number in numbers if math.isfinite(number)]
    return all(math.isclose(number, finite[0], rel_tol=1e-7) for number in finite)


def _explodes(table: _Table, experiment: str, strategy: str) -> Claim:
    """Exponential growth: time doubles again and again at ever smaller steps relative to the size."""
    text = f"{experiment}: {strategy} explodes"
    runs = _of(table, experiment, strategy)
    done = [run for run in runs if run.status == "finished" and run.seconds]
    stopped = next((run for run in runs if run.unfinished), None)
    if stopped is None or not done:
        return Claim(text, "not measured", None)
    last = done[-1]
    assert last.seconds is not None
    measured = f"{last.seconds:.3g} s at {last.events:,} events, not finished at {stopped.events:,}"
    before = [run for run in done[:-1] if run.seconds and run.seconds > 0.01]
    if before and last.seconds:
        one = before[-1]
        assert one.seconds is not None
        power = math.log(last.seconds / one.seconds) / math.log(last.events / one.events)
        measured += f"; time grows as events to the power of {power:.0f}"
        return Claim(text, measured, power > 3)
    return Claim(text, measured, True)


def _linear(table: _Table, experiment: str) -> Claim:
    text = f"{experiment}: greta is near-linear"
    done = [run for run in _finished(table, experiment, "greta") if run.events >= 10_000 and run.seconds]
    if len(done) < 2:
        return Claim(text, "not measured", None)
    first, last = done[0], done[-1]
    assert first.seconds is not None
    assert last.seconds is not None
    power = math.log(last.seconds / first.seconds) / math.log(last.events / first.events)
    measured = f"from {first.events:,} to {last.events:,} events time grows as events to the power of {power:.2f}"
    return Claim(text, measured, power < 1.25)


def _pair(table: _Table, experiment: str, rival: str) -> tuple[Run, Run] | None:
    """The rival's largest run within the time limit, and greta's of the same place."""
    done = [run for run in _finished(table, experiment, rival) if run.seconds and run.seconds <= run.limit]
    if not done or not any(run.unfinished for run in _of(table, experiment, rival)):
        return None
    ours = table.get((experiment, done[-1].x, "greta"))
    return (ours, done[-1]) if ours is not None and ours.status == "finished" else None


def _faster(table: _Table, experiment: str, rival: str) -> Claim:
    text = f"{experiment}: at {rival}'s largest size within the limit greta is 10,000 times faster"
    pair = _pair(table, experiment, rival)
    if pair is None or not pair[0].seconds or not pair[1].seconds:
        return Claim(text, "not measured", None)
    ours, theirs = pair
    assert ours.seconds is not None
    assert theirs.seconds is not None
    times = theirs.seconds / ours.seconds
    measured = (
        f"{times:,.0f} times at {ours.events:,} events: {ours.seconds * 1e3:.3g} ms against {theirs.seconds:.3g} s"
    )
    return Claim(text, measured, times >= 10_000)


def _memories(table: _Table, experiment: str, rival: str) -> tuple[int, int, str] | None:
    """Greta's memory and the rival's at the rival's largest size, and both for people."""
    pair = _pair(table, experiment, rival)
    if pair is None or pair[0].memory is None or pair[1].memory is None:
        return None
    ours, theirs = pair[0].memory, pair[1].memory
    measured = f"{size(ours)} against {size(theirs)} at {pair[0].events:,} events"
    if ours <= FLOOR:
        measured += f" (less than {size(FLOOR)} cannot be told apart)"
    return ours, theirs, measured


def _leaner(table: _Table, experiment: str, rival: str) -> Claim:
    text = f"{experiment}: at {rival}'s largest size greta needs 50 times less memory beyond the input"
    found = _memories(table, experiment, rival)
    if found is None:
        return Claim(text, "not measured", None)
    ours, theirs, measured = found
    return Claim(text, measured, theirs / ours >= 50)


def _flat(table: _Table, experiment: str) -> Claim:
    text = f"{experiment}: greta stays within a factor of 3"
    times = [run.seconds for run in _finished(table, experiment, "greta") if run.seconds]
    if len(times) < 2:
        return Claim(text, "not measured", None)
    measured = f"{min(times) * 1e3:.3g} to {max(times) * 1e3:.3g} ms, a factor of {max(times) / min(times):.2f}"
    return Claim(text, measured, max(times) / min(times) <= 3)


def _graph(table: _Table) -> Claim:
    text = "quadratic: at 20,000 events greta is 1,000 times faster than the paper's graph"
    ours, graph = (table.get(("quadratic", "20000", name)) for name in ("greta", "graph"))
    if ours is None or graph is None or not ours.seconds or not graph.seconds:
        return Claim(text, "not measured", None)
    times = graph.seconds / ours.seconds
    at_least = "at least " if graph.unfinished else ""
    measured = f"{at_least}{times:,.0f} times: {ours.seconds * 1e3:.3g} ms against {at_least}{graph.seconds:.3g} s"
    return Claim(text, measured, times >= 1_000)


def size(count: float) -> str:
    """Bytes for people.

    >>> size(65_536)
    '64 KB'
    """
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} GB"
