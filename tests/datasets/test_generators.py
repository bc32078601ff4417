"""What holds for every generated stream, whatever it is about."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greta import datasets
from greta.datasets.blocks import BLOCK, START, Grouped
from greta.errors import DataError

GENERATORS = [
    pytest.param(datasets.stock_batches, datasets.stock, datasets.STOCK_SCHEMA, id="stock"),
    pytest.param(datasets.traffic_batches, datasets.traffic, datasets.TRAFFIC_SCHEMA, id="traffic"),
    pytest.param(datasets.cluster_batches, datasets.cluster, datasets.CLUSTER_SCHEMA, id="cluster"),
]
everywhere = pytest.mark.parametrize(("batches", "table", "schema"), GENERATORS)


def micros(table: pa.Table) -> np.ndarray:
    return table.column("time").cast(pa.int64()).to_numpy()


@everywhere
def test_the_same_seed_gives_the_same_table(batches, table, schema):
    assert table(5_000, seed=7).equals(table(5_000, seed=7))


@everywhere
def test_another_seed_gives_another_table(batches, table, schema):
    assert not table(5_000, seed=7).equals(table(5_000, seed=8))


@everywhere
@pytest.mark.parametrize("chunk", [1_000, 65_535, BLOCK, 70_001, 10**9])
def test_the_chunk_size_does_not_matter(batches, table, schema, chunk):
    events = 2 * BLOCK + 1_234
    made = list(batches(events, seed=3, chunk=chunk))
    assert [len(batch) for batch in made[:-1]] == [chunk] * (len(made) - 1)
    assert pa.Table.from_batches(made).equals(table(events, seed=3))


@everywhere
@settings(max_examples=10)
@given(events=st.integers(0, 2_000), chunk=st.integers(1, 2_500))
def test_a_shorter_stream_is_the_beginning_of_a_longer_one(batches, table, schema, events, chunk):
    made = pa.Table.from_batches(batches(events, chunk=chunk))
    assert made.equals(table(2_000).slice(0, events))


@everywhere
def test_the_schema_is_as_published_even_without_events(batches, table, schema):
    (empty,) = batches(0)
    assert len(empty) == 0
    assert empty.schema.equals(schema)
    assert table(10).schema.equals(schema)
    assert schema.field("time").type == pa.timestamp("us", tz="UTC")
    assert schema.names[:2] == ["type", "time"]


@everywhere
def test_times_never_decrease_and_begin_at_the_start(batches, table, schema):
    start = datetime(2030, 5, 1, 12, tzinfo=UTC)
    made = table(BLOCK + 100, start=start)
    times = micros(made)
    assert (np.diff(times) >= 0).all()
    assert 0 <= times[0] - int(start.timestamp() * 1e6) < 2_000_000


@everywhere
def test_a_start_without_a_time_zone_is_utc(batches, table, schema):
    assert table(10, start=START.replace(tzinfo=None)).equals(table(10, start=START))


@everywhere
@pytest.mark.parametrize("wrong", [{"events": -1}, {"events": 1, "chunk": 0}])
def test_sizes_that_mean_nothing_are_refused_at_once(batches, table, schema, wrong):
    with pytest.raises(DataError, match="hint:"):
        batches(**wrong)


@pytest.mark.parametrize("table", [datasets.stock, datasets.cluster])
@pytest.mark.parametrize("rate", [5.0, 3_000.0, 400_000.0])
def test_events_come_at_the_stated_rate(table, rate):
    times = micros(table(100_000, rate=rate))
    assert len(times) / ((times[-1] - times[0]) / 1e6) == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize("table", [datasets.stock, datasets.cluster])
@pytest.mark.parametrize("ties", [0.0, 0.3, 0.8])
def test_the_stated_share_of_events_is_tied_and_the_rate_stays(table, ties):
    times = micros(table(100_000, rate=2_000, ties=ties))
    _, sizes = np.unique(times, return_counts=True)
    assert sizes[sizes > 1].sum() / len(times) == pytest.approx(ties, abs=0.01)
    assert len(times) / ((times[-1] - times[0]) / 1e6) == pytest.approx(2_000, rel=0.03)


@pytest.mark.parametrize(("resolution", "unit"), [("ms", 1_000), ("s", 1_000_000)])
def test_a_coarser_resolution_cuts_the_same_times(resolution, unit):
    fine, coarse = micros(datasets.stock(2_000)), micros(datasets.stock(2_000, resolution=resolution))
    assert (coarse == fine // unit * unit).all()


@pytest.mark.parametrize("table", [datasets.stock, datasets.cluster])
@pytest.mark.parametrize(
    "wrong", [{"rate": 0}, {"rate": 2e6}, {"ties": 1.0}, {"ties": -0.1}, {"resolution": "minutes"}]
)
def test_clocks_that_cannot_run_are_refused(table, wrong):
    with pytest.raises(DataError, match="hint:"):
        table(10, **wrong)


@given(codes=st.lists(st.integers(0, 4), min_size=1, max_size=40), data=st.data())
def test_grouped_runs_are_what_a_loop_over_each_key_computes(codes, data):
    steps = data.draw(st.lists(st.integers(-9, 9), min_size=len(codes), max_size=len(codes)))
    carried = np.array([100, 200, 300, 400, 500])
    grouped = Grouped.by(np.array(codes), 5)
    ordered = np.array(steps)[grouped.order]
    sums = grouped.running_sum(ordered, carried[grouped.keys])
    lows = grouped.restore(grouped.running_min(sums))
    sums, ranks = grouped.restore(sums), grouped.restore(grouped.ranks())
    for key in set(codes):
        mine = [i for i, code in enumerate(codes) if code == key]
        expected = carried[key] + np.cumsum([steps[i] for i in mine])
        assert sums[mine].tolist() == expected.tolist()
        assert lows[mine].tolist() == np.minimum.accumulate(expected).tolist()
        assert ranks[mine].tolist() == list(range(len(mine)))
