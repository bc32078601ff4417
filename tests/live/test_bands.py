"""Graphs of fewer windows at a time: rows as in a batch, within the memory that there is."""

from __future__ import annotations

import random
import weakref
from typing import Any

import pyarrow as pa
import pytest
from test_live_rows import by_window, nearly
from test_online import FALLS, assert_alike, trades

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob
from greta.kernels.heap import TOP
from greta.live import bands
from greta.live.graphs import NEVER
from greta.live.growing import LiveGraph
from greta.live.online import Online
from greta.live.program import Program
from greta.live.stream import Stream, open_stream
from greta.live.windows import Windows, windows_for
from support.examples import FACTOR, only_compiled
from support.live_streams import streamed
from support.online_cases import online_case

SLIDING = FALLS.replace("SLIDE 7", "SLIDE 2")
"""Thirty windows at a time."""


def in_bands(lanes: int) -> Any:
    """Windows in bands where the query may have them, of so many whether they pay or not."""

    def make(job: StreamJob) -> Windows:
        windows = windows_for(job)
        return Online(job, lanes=lanes) if isinstance(windows, Online) and Program.of(job).may_have_bands else windows

    return make


def pushed(stream: Stream, events: pa.Table, pieces: int) -> list[dict[str, Any]]:
    return [row for at in range(0, len(events), pieces) for row in stream.push(events.slice(at, pieces)).to_pylist()]


@pytest.mark.parametrize("seed", range(8))
def test_random_streams_in_bands_have_the_rows_of_a_batch(seed: int) -> None:
    draw = random.Random(f"bands {seed}")
    tried = 0
    while tried < 25 * FACTOR:
        case = online_case(draw)
        make = in_bands(draw.choice((1, 2, 3, 5)))
        windows = make(StreamJob.of(Job.bind(case.query, case.events.schema, numbers=case.numbers)))
        if not isinstance(windows, Online) or windows._bands.lanes is None:
            continue
        tried += 1
        expected = greta.aggregate(case.events, case.query, numbers=case.numbers).to_pylist()
        restore = draw.random() < 0.3
        rows = streamed(case.query, case.events, 2.0, make, draw, restore=restore, numbers=case.numbers)
        assert by_window(rows) == [nearly(row) for row in by_window(expected)], case.query


def made(query: str, events: pa.Table, most: int, lanes: int | None = None) -> tuple[Online, Stream]:
    windows = Online(StreamJob.of(Job.bind(query, events.schema)), most, lanes)
    return windows, open_stream(query, schema=events.schema, windows=lambda _: windows)


@only_compiled
@pytest.mark.parametrize("pieces", [40, 333, 8_000])
def test_windows_that_do_not_fit_the_memory_together_take_turns(pieces: int) -> None:
    events = trades(8_000, 400, cents=False)
    most = 3_000_000
    windows, stream = made(SLIDING, events, most)
    rows: list[dict[str, Any]] = []
    for at in range(0, events.num_rows, pieces):
        rows += stream.push(events.slice(at, pieces)).to_pylist()
        assert stream.figures.online
        assert windows._bands.bytes <= most
    assert windows._bands.lanes is not None
    rows += stream.close().to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())


def test_the_graph_of_all_windows_goes_on_for_the_next_ones_alone() -> None:
    events = trades(300, 15, cents=False)
    windows, _ = made(SLIDING, events, 2_500_000)
    job = windows._job
    last = int(job.clock.read(events.column("time"), "time")[-1]) + 1
    closed = windows.advance(events, last)
    assert windows._bands.lanes is not None
    assert windows._bands.current.program is windows._program
    rows = job.finish(pa.concat_tables([closed, windows.open()])).to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())


@only_compiled
def test_one_graph_is_for_all_windows_that_will_have_room_together() -> None:
    events = trades(8_000, 400, cents=False)
    windows, stream = made(SLIDING, events, 8_000_000)
    pushed(stream, events, 100)
    assert 3 * windows._bands.bytes > windows._bands.most_bytes
    assert windows._bands.lanes is None


@only_compiled
def test_a_band_that_outgrows_its_memory_gives_way_to_smaller_ones() -> None:
    events = trades(6_000, 300, cents=False)
    windows, stream = made(SLIDING, events, 2_500_000, lanes=25)
    rows = pushed(stream, events, 100)
    assert stream.figures.online
    assert windows._bands.lanes is not None
    assert bands._FEWEST <= windows._bands.lanes < 25
    rows += stream.close().to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())


@pytest.mark.parametrize("slides", [0.1, 0.5, 1.0])
def test_a_band_has_all_events_a_slide_before_its_turn(slides: float) -> None:
    events = trades(8_000, 400, cents=False)
    windows, stream = made(SLIDING, events, 10**8, lanes=8)
    stream.few = stream.enough = 1
    rows: list[dict[str, Any]] = []
    before, turns = windows._bands.current, []
    pieces = round(slides * 40)
    for at in range(0, events.num_rows, pieces):
        following, ends = windows._bands.following, windows._bands._end
        ready = None if following is None else following.until
        rows += stream.push(events.slice(at, pieces)).to_pylist()
        if windows._bands.current is not before and before.first > NEVER:
            assert windows._bands.current is following
            assert ready is not None
            turns.append((ends - ready) / windows._program.slide)
        before = windows._bands.current
    # What comes after the last push before a turn is taken in with the push that brings it.
    assert len(turns) > 10
    assert max(turns[1:]) <= 1 + 2 * slides
    rows += stream.close().to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())


def test_bands_become_larger_where_events_come_slower() -> None:
    events = trades(4_000, 400, cents=False)
    windows, stream = made(SLIDING, events, 10**8, lanes=8)
    rows = pushed(stream, events, 50)
    assert windows._bands.lanes == windows._program.overlap // 2
    rows += stream.close().to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())


# events      ●   ●   ●   ●   ●   ●●●●●●●●●●●●●●●●●●●●●●●●
# windows    few: bands grow      many: they are made again, and must not grow on the way there once more
@only_compiled
@pytest.mark.timeout(120)
@pytest.mark.parametrize("most", [2_000_000, 2_800_000, 4_000_000])
@pytest.mark.parametrize("pieces", [50, 10_000])
def test_bands_that_grew_and_do_not_fit_are_made_smaller_once(most: int, pieces: int) -> None:
    calm, busy = trades(400, 200, cents=False), trades(5_000, 100, cents=False, seed=1)
    later = pa.array([time + 200_000 for time in busy.column("time").cast(pa.int64()).to_pylist()])
    events = pa.concat_tables([calm, busy.set_column(1, "time", later.cast(pa.timestamp("ms")))])
    _, stream = made(SLIDING, events, most, lanes=8)
    rows = pushed(stream, events, pieces)
    rows += stream.close().to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())


@only_compiled
@pytest.mark.parametrize(("most", "online"), [(2_500_000, True), (600_000, False)])
def test_graphs_that_failed_are_gone_before_others_are_made(most: int, online: bool) -> None:
    events = trades(6_000, 300, cents=False)
    alive: list[tuple[weakref.ref[Any], Any]] = []
    there: list[int] = []
    begin, run = LiveGraph.__post_init__, LiveGraph._run

    def begun(graph: LiveGraph) -> None:
        begin(graph)
        alive.append((weakref.ref(graph.memory), graph.about))

    def counted(graph: LiveGraph, stop: int) -> None:
        there.append(sum(8 * int(about[TOP]) for memory, about in alive if memory() is not None))
        run(graph, stop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LiveGraph, "__post_init__", begun)
        patch.setattr(LiveGraph, "_run", counted)
        _, stream = made(SLIDING, events, most)
        rows = stream.push(events).to_pylist()
    assert len(alive) > 4
    assert max(there) <= most
    assert stream.figures.online is online
    assert online or stream.figures.why == (f"more than {most:,} bytes would be needed",)
    rows += stream.close().to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())


def test_where_not_even_a_few_windows_fit_they_are_computed_when_they_end() -> None:
    events = trades(4_000, 100, cents=False)
    _, stream = made(SLIDING, events, 100_000)
    rows = stream.push(events.slice(0, 2_000)).to_pylist()
    assert not stream.figures.online
    rows += stream.push(events.slice(2_000)).to_pylist()
    rows += stream.close().to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())


# events      ●●●●●●●                              ●●●●●●●●
# bands    [-----)[-----)                       [-----)[-----)
def test_no_band_is_made_for_windows_without_events() -> None:
    before, after = trades(2_000, 70, cents=False), trades(2_000, 70, cents=False, seed=1)
    gap = 10**6
    later = pa.array([time.value // 10**6 + 1_000 * gap for time in after.column("time").to_pandas()])
    events = pa.concat_tables([before, after.set_column(1, "time", later.cast(pa.timestamp("ms")))])
    _, stream = made(SLIDING, events, 10**8, lanes=8)
    made_bands: list[int] = []
    new_band = bands.Bands._band

    def counted(self: bands.Bands, first: int, most: int) -> Any:
        made_bands.append(first)
        return new_band(self, first, most)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands.Bands, "_band", counted)
        rows = pushed(stream, events, 100)
    assert len(made_bands) < 40
    rows += stream.close().to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())


def test_changes_are_told_of_all_windows_though_they_were_in_bands() -> None:
    events = trades(2_000, 100, cents=False)
    windows, _ = made(SLIDING, events, 10**8, lanes=8)
    job = windows._job
    cut = int(job.clock.read(events.column("time"), "time")[1_000])
    before, after = events.slice(0, 1_000), events.slice(1_000)
    closed = windows.advance(before, cut)
    assert windows._bands.lanes is not None
    told = windows.changes()
    assert windows._bands.lanes is None
    seen = greta.aggregate(before, SLIDING).to_pylist()
    assert_alike(job.finish(pa.concat_tables([closed, told])).to_pylist(), seen)
    last = int(job.clock.read(events.column("time"), "time")[-1]) + 1
    closed = pa.concat_tables([closed, windows.advance(after, last), windows.open()])
    assert_alike(job.finish(closed).to_pylist(), greta.aggregate(events, SLIDING).to_pylist())


@only_compiled
def test_a_stream_in_bands_goes_on_from_a_snapshot_in_the_memory_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    events = trades(8_000, 400, cents=False)
    monkeypatch.setenv("GRETA_LIVE_MEMORY", "3000000")
    restored: list[Online] = []
    load = Online.load

    def remembered(*given: Any) -> Windows:
        windows = load(*given)
        assert isinstance(windows, Online)
        restored.append(windows)
        return windows

    monkeypatch.setattr(Online, "load", remembered)
    stream = greta.stream(SLIDING, schema=events.schema)
    rows: list[dict[str, Any]] = []
    for at in range(0, events.num_rows, 1_000):
        rows += stream.push(events.slice(at, 1_000)).to_pylist()
        stream = greta.stream(SLIDING, snapshot=stream.snapshot())
        assert stream.figures.online
    assert restored[-1]._bands.lanes is not None
    rows += stream.close().to_pylist()
    assert_alike(rows, greta.aggregate(events, SLIDING).to_pylist())
