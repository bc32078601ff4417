"""The cluster stream: the paper's distributions, and job runs with a Start and an End."""

import numpy as np
import pyarrow.compute as pc
import pytest

from greta.datasets import cluster
from greta.errors import DataError


@pytest.fixture(scope="module")
def table():
    return cluster(200_000, seed=1)


def measurements(table):
    return table.filter(pc.equal(table.column("type"), "Measurement"))


@pytest.mark.parametrize("name", ["mapper", "job"])
def test_mapper_and_job_are_uniform_from_0_to_10(table, name):
    counts = np.bincount(table.column(name).to_numpy())
    assert len(counts) == 11
    # Six standard deviations of a fair share.
    share = len(table) / 11
    assert np.abs(counts - share).max() < 6 * share**0.5


@pytest.mark.parametrize("name", ["cpu", "memory"])
def test_cpu_and_memory_are_uniform_from_0_to_1000(table, name):
    values = measurements(table).column(name).to_numpy()
    assert (values.min(), values.max()) == (0, 1000)
    assert values.mean() == pytest.approx(500, abs=4)
    assert values.std() == pytest.approx(1000 / 12**0.5, rel=0.01)


def test_load_is_poisson_around_100(table):
    values = measurements(table).column("load").to_numpy()
    assert values.mean() == pytest.approx(100, abs=0.2)
    assert values.var() == pytest.approx(100, rel=0.02)
    assert values.min() >= 0


def test_three_thousand_events_come_per_second(table):
    times = table.column("time").to_numpy().astype(np.int64)
    assert len(times) / ((times[-1] - times[0]) / 1e6) == pytest.approx(3000, rel=0.01)


def test_each_run_is_a_start_then_measurements_then_an_end(table):
    runs: dict[tuple[int, int], str] = {}
    letter = {"Start": "s", "Measurement": "m", "End": "e"}
    for kind, job, mapper in zip(*(table.column(n).to_pylist() for n in ("type", "job", "mapper")), strict=True):
        runs[job, mapper] = runs.get((job, mapper), "") + letter[kind]
    assert len(runs) == 121
    lengths = []
    for run in runs.values():
        *whole, rest = run.split("e")
        lengths += [len(part) - 1 for part in whole]
        assert all(part[0] == "s" and set(part[1:]) == {"m"} for part in whole)
        assert rest == "" or (rest[0] == "s" and set(rest[1:]) <= {"m"})
    assert min(lengths) >= 25
    assert max(lengths) <= 75
    assert np.mean(lengths) == pytest.approx(50, rel=0.15)


def test_start_and_end_measure_nothing(table):
    rest = table.filter(pc.not_equal(table.column("type"), "Measurement"))
    for name in ("cpu", "memory", "load"):
        assert rest.column(name).null_count == len(rest)
        assert measurements(table).column(name).null_count == 0


@pytest.mark.parametrize("wrong", [{"mappers": 0}, {"jobs": 0}, {"measurements": 0}])
def test_clusters_that_cannot_be_are_refused(wrong):
    with pytest.raises(DataError, match="hint:"):
        cluster(10, **wrong)


def test_a_run_may_have_a_single_measurement():
    kinds = cluster(9, mappers=1, jobs=1, measurements=1).column("type").to_pylist()
    assert kinds == ["Start", "Measurement", "End"] * 3
