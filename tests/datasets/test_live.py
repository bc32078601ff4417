"""The live feed, on a clock that the tests wind."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greta import datasets
from greta.datasets.live import event_microseconds
from greta.errors import DataError


class Clock:
    """A clock that only sleeping moves, and that sees what is in the directory when it is asked to wait."""

    def __init__(self, directory):
        self.time = 1_000.0
        self.directory = directory
        self.seen: list[tuple[float, list[str]]] = []

    def now(self):
        return self.time

    def sleep(self, seconds):
        names = sorted(path.name for path in self.directory.iterdir()) if self.directory.is_dir() else []
        self.seen.append((self.time - 1_000, names))
        self.time += seconds


def feed(batches, directory, **options):
    clock = Clock(directory)
    return datasets.feed(batches, directory, now=clock.now, sleep=clock.sleep, **options), clock


def micros(table):
    return event_microseconds(table.column("time").combine_chunks())


def test_files_appear_one_by_one_and_whole(tmp_path):
    fed, clock = feed(datasets.cluster_batches(3_000, rate=1_000), tmp_path, seconds=3)
    # 0 s   1 s        2 s        3 s
    # |--------|----------|----------|
    #       file 0     file 1     file 2
    names = [f"events-0000000{i}.parquet" for i in range(3)]
    assert [seen for _, seen in clock.seen] == [[], names[:1], names[:2]]
    assert [moment for moment, _ in clock.seen] == pytest.approx([0, 1, 2])
    assert clock.time == pytest.approx(1_003)
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert fed.files == 3
    assert fed.behind == 0


def test_a_file_holds_the_events_of_its_stretch_of_time(tmp_path):
    fed, _ = feed(datasets.cluster_batches(5_000, rate=1_000), tmp_path, seconds_per_file=0.5, seconds=2)
    tables = [datasets.load(path) for path in sorted(tmp_path.iterdir())]
    origin = micros(tables[0])[0]
    for number, table in enumerate(tables):
        assert set((micros(table) - origin) // 500_000) == {number}
    whole = pa.concat_tables(tables)
    assert len(tables) == 4
    assert fed.events == len(whole)
    assert whole.to_pylist() == datasets.cluster(5_000, rate=1_000).slice(0, len(whole)).to_pylist()


def test_the_feed_ends_with_the_stream(tmp_path):
    fed, _ = feed(datasets.cluster_batches(2_500, rate=1_000), tmp_path)
    assert fed.events == 2_500
    assert fed.files == 3


def test_a_rate_deals_out_events_by_number(tmp_path):
    fed, clock = feed(datasets.stock_batches(1_000), tmp_path, rate=100, seconds_per_file=2, seconds=6)
    assert [len(datasets.load(path)) for path in sorted(tmp_path.iterdir())] == [200, 200, 200]
    assert fed.events == 600
    assert clock.time == pytest.approx(1_006)


def test_a_rate_that_does_not_fill_whole_files_still_holds_on_average(tmp_path):
    feed(datasets.stock_batches(1_000), tmp_path, rate=2.5, seconds=8)
    assert [len(datasets.load(path)) for path in sorted(tmp_path.iterdir())] == [3, 2, 3, 2, 3, 2, 3, 2]


def test_a_speed_up_shortens_the_wait_and_changes_no_file(tmp_path):
    _, slow = feed(datasets.cluster_batches(3_000, rate=1_000), tmp_path / "slow", seconds=3)
    _, fast = feed(datasets.cluster_batches(3_000, rate=1_000), tmp_path / "fast", seconds=3, speedup=10)
    assert fast.time - 1_000 == pytest.approx((slow.time - 1_000) / 10)
    assert datasets.load(tmp_path / "fast").equals(datasets.load(tmp_path / "slow"))


def test_a_feed_that_is_too_slow_says_how_far_behind_it_was(tmp_path):
    moments = iter([0.0, 0.4, 4.5, 4.6])
    fed = datasets.feed(
        datasets.cluster_batches(2_500, rate=1_000), tmp_path, now=lambda: next(moments), sleep=lambda _: None
    )
    assert fed.behind == pytest.approx(2.5)


def test_stretches_without_events_make_no_file_but_take_their_time(tmp_path):
    table = pa.table({"type": ["A", "A"], "time": [0.0, 3.5]})
    fed, clock = feed(table.to_batches(), tmp_path, format="csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events-00000000.csv", "events-00000003.csv"]
    assert clock.time == pytest.approx(1_004)
    assert fed.files == 2


def test_a_second_feed_goes_on_numbering_after_the_first(tmp_path):
    feed(datasets.stock_batches(20), tmp_path, rate=10)
    first = {path: path.read_bytes() for path in tmp_path.iterdir()}
    feed(datasets.stock_batches(20, seed=1), tmp_path, rate=10)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"events-0000000{i}.parquet" for i in range(4)]
    assert {path: path.read_bytes() for path in first} == first


@settings(max_examples=20)
@given(disorder=st.floats(0.01, 5), chunk=st.integers(1, 500), seed=st.integers(0, 10))
def test_disorder_loses_nothing_and_delays_by_no_more_than_stated(tmp_path_factory, disorder, chunk, seed):
    directory = tmp_path_factory.mktemp("feed")
    batches = datasets.cluster_batches(400, rate=100, chunk=chunk)
    feed(batches, directory, disorder=disorder, seed=seed)
    arrived = datasets.load(directory)
    times = micros(arrived)
    newest = 0
    for time in times.tolist():
        assert time > newest - disorder * 1e6
        newest = max(newest, time)
    assert sorted(map(str, arrived.to_pylist())) == sorted(map(str, datasets.cluster(400, rate=100).to_pylist()))


def test_disorder_does_change_the_order_and_is_seeded(tmp_path):
    for name, seed, chunk in (("a", 1, 50), ("b", 1, 333), ("c", 2, 50)):
        feed(datasets.cluster_batches(500, rate=100, chunk=chunk), tmp_path / name, disorder=2, seed=seed)
    a, b, c = (datasets.load(tmp_path / name) for name in "abc")
    assert a.equals(b)
    assert not a.equals(c)
    assert (micros(a)[1:] < micros(a)[:-1]).any()


def test_an_interrupted_feed_leaves_whole_files_only(tmp_path):
    def interrupted():
        yield from datasets.cluster_batches(2_500, rate=1_000)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        feed(interrupted(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "events-00000000.parquet",
        "events-00000001.parquet",
    ]
    assert len(datasets.load(tmp_path)) > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"seconds_per_file": 0},
        {"speedup": 0},
        {"disorder": -1},
        {"rate": 0},
        {"seconds": 0},
        {"format": "xml"},
    ],
)
def test_feeds_that_cannot_be_are_refused(wrong, tmp_path):
    with pytest.raises(DataError, match="hint:"):
        datasets.feed(datasets.stock_batches(10), tmp_path, **wrong)
