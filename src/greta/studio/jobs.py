"""A small log of jobs, made so that questions have answers that can be checked by eye.

Every job starts and reports its load every ten seconds. Most finish; some stall (reports of zero load) before they
do, some fail after their load has grown from report to report, some are never heard of again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from typing import Literal

import numpy as np
import pyarrow as pa

Fate = Literal["finishes", "stalls", "climbs and fails", "is lost"]
_FATES: tuple[Fate, ...] = ("finishes", "finishes", "stalls", "finishes", "climbs and fails", "finishes", "is lost")
_Row = tuple[str, datetime, str, int, float | None]
_START = datetime(2024, 1, 2, 9, 30, tzinfo=UTC)


def fates(jobs: int = 32) -> dict[str, Fate]:
    """What becomes of each job."""
    return {f"job-{number:02}": fate for number, fate in enumerate(islice(cycle(_FATES), jobs), start=1)}


def jobs() -> pa.Table:
    """The log, in order of time; the same one at every call."""
    random = np.random.default_rng(7)
    rows = [row for at, (job, fate) in enumerate(fates().items()) for row in _life(job, fate, at, random)]
    rows.sort(key=lambda row: row[1])
    names = ("type", "time", "job", "node", "load")
    kinds = (pa.string(), pa.timestamp("us", "UTC"), pa.string(), pa.int64(), pa.float64())
    columns = zip(*rows, strict=True)
    return pa.table({name: pa.array(column, kind) for name, column, kind in zip(names, columns, kinds, strict=True)})


def _life(job: str, fate: Fate, at: int, random: np.random.Generator) -> list[_Row]:
    """The events of one job: (type, time, job, node, load)."""
    began = _START + timedelta(seconds=40 * at + int(random.integers(0, 20)))
    loads = np.round(50 + np.cumsum(random.normal(0, 9, size=int(random.integers(12, 20)))), 1).clip(5, 95)
    end: str | None = "Finish"
    match fate:
        case "stalls":
            loads[4 : 4 + int(random.integers(4, 7))] = 0.0
        case "climbs and fails":
            loads[-6:] = np.round(np.linspace(float(loads[-7]), 99.0, 7)[1:], 1)
            end = "Failure"
        case "is lost":
            end = None
        case "finishes":
            # Reports of a job that ends well do not all grow before the end.
            loads[-1] = loads[-2] - 5
    node = int(random.integers(1, 5))
    moments = [began + timedelta(seconds=10 * (i + 1), milliseconds=7 * at) for i in range(len(loads))]
    life: list[_Row] = [("Start", began, job, node, None)]
    life += [("Report", moment, job, node, float(load)) for moment, load in zip(moments, loads, strict=True)]
    if end is not None:
        life.append((end, moments[-1] + timedelta(seconds=5), job, node, None))
    return life
