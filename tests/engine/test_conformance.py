"""Every worked case, in both number modes, on the kernels and on the paper's graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from greta import aggregate
from greta.engine.job import Job
from greta.engine.tables import to_table

FILES = sorted((Path(__file__).parents[1] / "conformance").glob("*.json"))
CASES = [case for file in FILES for case in json.loads(file.read_text())]


def number(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return value


def in_any_order(rows: list[list[Any]]) -> list[str]:
    """Numbers to 12 digits: averages and deviations may be rounded at other places."""
    return sorted(repr([f"{float(v):.12g}" if isinstance(v, int | float) else v for v in row]) for row in rows)


@pytest.mark.parametrize("strategy", ["auto", "graph"])
@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_worked_cases_come_out_as_written(case: dict[str, Any], numbers: Any, strategy: Any) -> None:
    rows = aggregate(case["events"], case["query"], numbers=numbers, strategy=strategy).to_pylist()
    answer = [[number(row[name]) for name in case["columns"]] for row in rows]
    assert in_any_order(answer) == in_any_order(case["expected"])


@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_partitions_computed_apart_merge_into_the_same_rows(numbers: Any) -> None:
    for case in CASES[::7]:
        events = to_table(case["events"])
        job = Job.bind(case["query"], events.schema, numbers=numbers)
        apart: dict[int, list[int]] = {0: []}
        for row, event in enumerate(case["events"]):
            key = repr([event.get(name) for name in job.plan.partitioning.common])
            apart.setdefault(sum(map(ord, key)) % 3, []).append(row)
        parts = [job.partials(events.take(pa.array(rows, pa.int64()))) for rows in apart.values()]
        merged = job.finish(pa.concat_tables(parts))
        whole = aggregate(events, case["query"], numbers=numbers)
        assert merged.schema == job.output_schema == whole.schema
        assert in_any_order([list(r.values()) for r in merged.to_pylist()]) == in_any_order(
            [list(r.values()) for r in whole.to_pylist()]
        ), case["name"]
