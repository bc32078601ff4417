"""Windows that are brought forward by each event: when they are, when not, and rows equal to a batch either way."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import greta
from greta.engine.columns import Columns
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.errors import StateError
from greta.kernels.heap import LEISURE
from greta.kernels.merges import LARGEST_RUN
from greta.kernels.runs import RUNS
from greta.lang.nodes import Attribute
from greta.live import online
from greta.live.growing import LiveGraph
from greta.live.online import MEMORY, Online
from greta.live.orders import Words
from greta.live.program import Program
from greta.live.rows import partial_rows
from greta.live.stream import open_stream
from greta.live.warm import main
from greta.live.windows import Windows, windows_for
from greta.plan.nodes import Equal
from support.live_streams import as_a_bag

FALLS = """
RETURN company, COUNT(*), SUM(S.volume), MIN(S.price), MAX(COUNT(*)), AVG(LAST(S.price) - FIRST(S.price)) AS depth
PATTERN Stock S+ WHERE [company] AND S.price > NEXT(S).price
GROUP-BY company WITHIN 60 seconds SLIDE 7 seconds
"""


def trades(count: int, seconds: int, *, cents: bool, seed: int = 0, companies: int = 3) -> pa.Table:
    draw = np.random.default_rng(seed)
    prices = draw.normal(50, 5, count)
    return pa.table(
        {
            "type": pa.array(["Stock"] * count),
            "time": pa.array(np.sort(draw.integers(0, 1_000 * seconds, count)), pa.timestamp("ms")),
            "company": pa.array(draw.integers(0, companies, count)),
            "price": pa.array(np.round(prices) if cents else prices),
            "volume": pa.array(draw.integers(1, 9, count)),
        }
    )


def rows_of(query: str, events: pa.Table, pieces: int, numbers: Any = "double", make: Any = windows_for) -> list[Any]:
    stream = open_stream(query, schema=events.schema, numbers=numbers, windows=make)
    rows = []
    for at in range(0, events.num_rows, pieces):
        rows += stream.push(events.slice(at, pieces)).to_pylist()
    return [*rows, *stream.close().to_pylist()]


def assert_alike(rows: list[Any], batch: list[Any]) -> None:
    """Doubles are added in another order: they may differ in their last digits, differences of them by more."""
    rows, batch = (sorted(some, key=lambda row: (row["window_start"], row["company"])) for some in (rows, batch))
    assert len(rows) == len(batch)
    for row, expected in zip(rows, batch, strict=True):
        assert row == {
            name: pytest.approx(value, rel=1e-10, abs=1e-10) if isinstance(value, float) else value
            for name, value in expected.items()
        }


def engine(query: str, events: pa.Table, numbers: Any = "double") -> Windows:
    return windows_for(StreamJob.of(Job.bind(query, events.schema, numbers=numbers)))


@pytest.mark.parametrize("cents", [True, False])
@pytest.mark.parametrize("operator", [">", ">=", "<", "<=", "!=", "="])
def test_thousands_of_events_link_across_pushes_as_in_a_batch(operator: str, cents: bool) -> None:
    # Long enough for runs to be merged, narrowed and let go of: windows of about 1,000 events per company.
    events = trades(8_000, 140, cents=cents)
    query = FALLS.replace(">", operator)
    assert engine(query, events).figures().online
    assert_alike(rows_of(query, events, 333), greta.aggregate(events, query).to_pylist())


def interrupted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next call that brings windows forward end when the graph has gone on."""

    def interrupt(*_: Any) -> Any:
        monkeypatch.setattr(online, "partial_rows", partial_rows)
        raise KeyboardInterrupt

    monkeypatch.setattr(online, "partial_rows", interrupt)


def test_a_push_that_is_interrupted_can_be_pushed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    events = trades(300, 90, cents=True)
    stream = open_stream(FALLS, schema=events.schema)
    rows = stream.push(events.slice(0, 150)).to_pylist()
    interrupted_once(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        stream.push(events.slice(150))
    stream = open_stream(FALLS, snapshot=stream.snapshot())
    rows += stream.push(events.slice(150)).to_pylist()
    assert_alike([*rows, *stream.close().to_pylist()], greta.aggregate(events, FALLS).to_pylist())


def test_a_stream_that_keeps_no_events_says_that_it_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds SLIDE 1 second"
    stream = greta.stream(query)
    stream.push([{"type": "A", "time": time} for time in range(10)])
    interrupted_once(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        stream.push({"type": "A", "time": 11})
    for go_on in (stream.snapshot, stream.close, lambda: stream.push({"type": "A", "time": 11})):
        with pytest.raises(StateError, match="in the middle of a push"):
            go_on()


@pytest.mark.parametrize("gap", [86_400.0, 1.7e9])
def test_lengths_of_time_keep_their_digits_however_old_a_stream_is(gap: float) -> None:
    draw = random.Random(1)
    events = [{"type": "A", "time": 0.0, "g": "stale", "x": 1.0}]
    events += [{"type": "A", "time": gap + at / 10, "g": "p", "x": draw.random()} for at in range(200)]
    query = "RETURN STDDEV(DURATION(*)) AS v PATTERN A+ WHERE [g] AND A.x > NEXT(A).x WITHIN 10 seconds SLIDE 5 seconds"
    batch = [row["v"] for row in greta.aggregate(events, query).to_pylist()]
    for cuts in ([0, 201], [0, 1, 90, 201], [0, 150, 201]):
        stream = greta.stream(query)
        rows = [row for low, high in pairwise(cuts) for row in stream.push(events[low:high]).to_pylist()]
        assert stream.figures.online
        rows += stream.close().to_pylist()
        assert [row["v"] for row in rows] == pytest.approx(batch, rel=1e-9)


def most_runs(graph: LiveGraph) -> int:
    return int(graph.partitions.instance[list(graph.partitions.place), RUNS].max())


def test_long_runs_wait_for_leisure_to_be_merged() -> None:
    events = trades(6_000, 60, cents=False, companies=1)
    job = StreamJob.of(Job.bind(FALLS, events.schema))
    graph = LiveGraph(Program.of(job), 1 << 28)

    def runs_after(first: int, last: int) -> int:
        piece = relevant(job, events.slice(first, last - first))[0]
        graph.advance(piece, int(events["time"].cast("int64")[last - 1].as_py()) + 1)
        return most_runs(graph)

    graph.about[LEISURE] = -(10**6)
    few = runs_after(0, 1_000)
    many = runs_after(1_000, 5_900)
    assert many > few + 12
    graph.about[LEISURE] = 10**6
    assert runs_after(5_900, 6_000) < many - 6
    assert graph.about[LEISURE] < 2 * LARGEST_RUN


def test_events_bring_the_leisure_that_merging_takes() -> None:
    events = trades(40_000, 400, cents=False, companies=1)
    query = FALLS.replace("60 seconds SLIDE 7 seconds", "1 hour SLIDE 20 minutes")
    graph = LiveGraph(Program.of(job := StreamJob.of(Job.bind(query, events.schema))), 1 << 28)
    for at in range(0, 40_000, 100):
        graph.advance(relevant(job, events.slice(at, 100))[0], int(events["time"].cast("int64")[at + 99].as_py()) + 1)
        assert graph.about[LEISURE] >= 0
    assert most_runs(graph) <= 24


def test_one_window_after_another_is_read_within_one_push() -> None:
    events = trades(3_000, 3_000, cents=True)
    query = FALLS.replace("60 seconds SLIDE 7 seconds", "5 seconds")
    batch = greta.aggregate(events, query).to_pylist()
    assert as_a_bag(rows_of(query, events, 3_000)) == as_a_bag(rows_of(query, events, 10)) == as_a_bag(batch)


def test_equalities_of_text_and_numbers_choose_the_index() -> None:
    draw = random.Random(5)
    count = 1_500
    events = pa.table(
        {
            "type": ["A"] * count,
            "time": pa.array(range(count), pa.int64()),
            "word": [draw.choice(("a", "b", "c", None)) for _ in range(count)],
            "number": pa.array([draw.choice((1.0, 2.0, None)) for _ in range(count)]),
            "price": pa.array([draw.random() for _ in range(count)]),
        }
    )
    for condition in (
        "A.word = NEXT(A).word AND A.number = NEXT(A).number AND A.price < NEXT(A).price",
        "A.word = NEXT(A).word AND A.price != NEXT(A).price",
    ):
        query = f"RETURN COUNT(*), MAX(COUNT(*)) PATTERN A+ WHERE {condition} WITHIN 200 seconds SLIDE 30 seconds"
        assert engine(query, events).figures().online
        assert as_a_bag(rows_of(query, events, 41)) == as_a_bag(greta.aggregate(events, query).to_pylist())


def worded(count: int, *, again: int) -> pa.Table:
    """Events with a new word every second event; each word comes again ``again`` events later."""
    words = [f"word {at // 2 if at % 2 else (at - again) // 2}" for at in range(count)]
    return pa.table({"type": ["A"] * count, "time": pa.array(range(count), pa.int64()), "word": words})


@pytest.mark.parametrize("again", [10, 100, 4_000])
def test_words_without_end_are_forgotten_with_their_windows(again: int) -> None:
    count = 12_000
    events = worded(count, again=again)
    query = "RETURN COUNT(*), MAX(COUNT(*)) PATTERN A+ WHERE A.word = NEXT(A).word WITHIN 60 seconds SLIDE 20 seconds"
    job = StreamJob.of(Job.bind(query, events.schema))
    windows = Online(job)
    stream = open_stream(query, schema=events.schema, windows=lambda _: windows)
    rows, sizes, words = [], [], []
    for at in range(0, count, 100):
        rows += stream.push(events.slice(at, 100)).to_pylist()
        assert isinstance(windows._bands.current, LiveGraph)
        words.append(len(windows._bands.current.words.numbers))
        sizes.append(windows.figures().bytes)
    rows += stream.close().to_pylist()
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query).to_pylist())
    assert max(words) < 2_000
    assert max(sizes[60:]) <= 1.5 * max(sizes[:60])


def test_words_that_do_not_fit_the_memory_are_given_up_for_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "1000000")
    events = worded(3_000, again=10)
    long = pa.array([f"{word}{'!' * 1_000}" for word in events.column("word").to_pylist()])
    events = events.set_column(2, "word", long)
    query = "RETURN COUNT(*), MAX(COUNT(*)) PATTERN A+ WHERE A.word = NEXT(A).word"
    windows = engine(query, events)
    stream = open_stream(query, schema=events.schema, windows=lambda _: windows)
    stream.push(events.slice(0, 1_000))
    assert windows.figures().online
    stream.push(events.slice(1_000))
    stream.advance(3_000)
    assert windows.figures().why == "more than 1,000,000 bytes would be needed"
    assert as_a_bag(stream.close().to_pylist()) == as_a_bag(greta.aggregate(events, query).to_pylist())


def test_a_word_that_was_forgotten_gets_another_number() -> None:
    words = Words()
    table = pa.table({"word": [f"w{at}" for at in range(3_000)]})
    equal = Equal(Attribute("A", "word"), Attribute("A", "word", next=True))
    first = words.codes(Columns(table), equal)[0]
    assert words.bytes > 0
    words.forget_unused([(0, 0, int(first[7])), (0, 1, int(first[9]))])
    assert set(words.numbers) == {"w7", "w9"}
    again = words.codes(Columns(table), equal)[0]
    assert (again[[7, 9]] == first[[7, 9]]).all()
    assert not set(again[[6, 8]].tolist()) & set(first.tolist())


@pytest.mark.parametrize("pieces", [1, 3, 50, 700])
def test_a_not_between_two_events_cuts_time_across_pushes(pieces: int) -> None:
    draw = random.Random(pieces)
    count = 700
    events = pa.table(
        {
            "type": [draw.choice("AAABCCN") for _ in range(count)],
            "time": pa.array(sorted(draw.randrange(300) for _ in range(count)), pa.int64()),
            "g": pa.array([draw.randrange(3) for _ in range(count)]),
            "x": pa.array([draw.randrange(9) for _ in range(count)]),
        }
    )
    for pattern, where in (("SEQ(A+, NOT N, C)", "[g]"), ("SEQ(A+, NOT N, C+)", "[g] AND A.x < NEXT(A).x")):
        query = f"RETURN g, COUNT(*) PATTERN {pattern} WHERE {where} GROUP-BY g WITHIN 40 seconds SLIDE 6 seconds"
        assert engine(query, events).figures().online
        assert as_a_bag(rows_of(query, events, pieces)) == as_a_bag(greta.aggregate(events, query).to_pylist())


def test_indexes_beyond_their_memory_are_given_up_for_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    events = trades(4_000, 100, cents=False)
    monkeypatch.setenv(MEMORY, "300000")
    windows = engine(FALLS, events)
    stream = open_stream(FALLS, schema=events.schema, windows=lambda _: windows)
    rows = []
    for at in range(0, 4_000, 100):
        rows += stream.push(events.slice(at, 100)).to_pylist()
    figures = windows.figures()
    assert not figures.online
    assert figures.why == "more than 300,000 bytes would be needed"
    rows += stream.close().to_pylist()
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, FALLS).to_pylist())


@pytest.mark.parametrize("strange", [float("inf"), 2.0**60])
def test_values_that_no_double_stands_for_are_computed_at_the_close(strange: float) -> None:
    events = trades(600, 60, cents=True)
    at = events.column_names.index("price")
    prices = events.column("price").to_pylist()
    prices[300] = strange
    type_ = pa.float64() if strange == float("inf") else pa.int64()
    if type_ == pa.int64():
        prices = [2**53 + 1 if row == 300 else int(price) for row, price in enumerate(prices)]
    events = events.set_column(at, "price", pa.array(prices, type_))
    query = FALLS.replace("60 seconds SLIDE 7 seconds", "10 seconds SLIDE 2 seconds")
    windows = engine(query, events)
    assert windows.figures().online
    assert as_a_bag(rows_of(query, events, 50, make=lambda _: windows)) == as_a_bag(
        greta.aggregate(events, query).to_pylist()
    )


def test_an_integer_is_a_double_on_both_sides_of_a_comparison_with_a_float() -> None:
    stream = greta.stream("RETURN COUNT(*) PATTERN A+ WHERE A.x + 0 < NEXT(A).x + 0.0")
    stream.push([{"type": "A", "time": at, "x": 2**53 + at} for at in (0, 1)])
    assert stream.close().column("count").to_pylist() == [2.0]


def test_averages_stay_finite_where_counts_do_not_fit_doubles() -> None:
    count = 2_400
    events = pa.table(
        {
            "type": ["Stock"] * count,
            "time": pa.array(range(count), pa.int64()),
            "price": pa.array([float(count - at) for at in range(count)]),
        }
    )
    query = "RETURN COUNT(*), AVG(S.price) PATTERN Stock S+ WHERE S.price > NEXT(S).price WITHIN 20 minutes"
    assert engine(query, events).figures().online
    rows = rows_of(query, events, 100)
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query).to_pylist())
    assert rows[0]["count"] == float("inf")
    assert rows[0]["avg_S_price"] == pytest.approx(1800.5, rel=1e-3)


def test_exact_counts_have_all_their_digits() -> None:
    events = pa.table({"type": ["A"] * 200, "time": pa.array(range(200), pa.int64())})
    query = "RETURN COUNT(*), COUNT(A) PATTERN A+ WITHIN 100 seconds SLIDE 20 seconds"
    assert engine(query, events, "exact").figures().online
    rows = rows_of(query, events, 7, "exact")
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query, numbers="exact").to_pylist())
    assert str(2**100 - 1) in {row["count"] for row in rows}


def test_counts_without_conditions_keep_no_event() -> None:
    events = trades(2_000, 200, cents=True)
    query = (
        "RETURN company, COUNT(*) PATTERN Stock S+ WHERE [company] GROUP-BY company WITHIN 60 seconds SLIDE 6 seconds"
    )
    windows = engine(query, events)
    stream = open_stream(query, schema=events.schema, windows=lambda _: windows)
    stream.push(events)
    assert windows.figures().online
    assert windows.figures().events == 0


@pytest.mark.parametrize("pieces", [1, 4])
def test_years_of_silence_cost_nothing(pieces: int) -> None:
    times = pa.array([0, 5, 60_000_000_000_000, 60_000_000_000_007], pa.timestamp("ms"))
    events = pa.table({"type": ["A"] * 4, "time": times, "x": [1, 2, 3, 4]})
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 20 ms SLIDE 10 ms"
    assert as_a_bag(rows_of(query, events, pieces)) == as_a_bag(greta.aggregate(events, query).to_pylist())


def test_partitions_that_nobody_needs_give_their_memory_back() -> None:
    events = pa.table(
        {
            "type": ["A"] * 20_000,
            "time": pa.array(range(20_000), pa.int64()),
            "session": pa.array([at // 10 for at in range(20_000)]),
            "x": pa.array([at % 7 for at in range(20_000)]),
        }
    )
    query = "RETURN COUNT(*) PATTERN A+ WHERE [session] AND A.x < NEXT(A).x WITHIN 60 seconds SLIDE 10 seconds"
    job = StreamJob.of(Job.bind(query, events.schema))
    windows = Online(job)
    sizes = []
    for at in range(0, 20_000, 500):
        windows.advance(events.select(job.schema.names).slice(at, 500).cast(job.schema), 1_000 * (at + 500))
        sizes.append(windows.figures().bytes)
    assert max(sizes[10:]) <= 1.5 * max(sizes[:10])


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(B, D))", "ends with a NOT of more than one event"),
        ("RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(B D, B E), C) WHERE D.s < NEXT(E).s", "text"),
        ("RETURN SUM(A.x) PATTERN A AND B", "over pairs"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x AND A.s < NEXT(A).s", "text"),
        (f"RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).x > {2**60}", "integers beyond 2^53"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.s < NEXT(A).s", "text"),
        ("RETURN MIN(A.s) PATTERN A+", "extremes of s"),
        ("RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [A.x, B.s]", "some variables"),
    ],
)
def test_figures_say_why_windows_are_computed_at_the_close(query: str, why: str) -> None:
    schema = {"type": pa.string(), "time": pa.int64(), "x": pa.int64(), "y": pa.float64(), "s": pa.string()}
    figures = engine(f"{query} WITHIN 10 seconds", pa.schema(schema).empty_table()).figures()
    assert not figures.online
    assert why in (figures.why or "")


def test_kernels_of_streams_are_made_ready_with_a_line_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    assert capsys.readouterr().out.startswith("greta: kernels are ready for streams, ")


def test_figures_say_when_exact_counts_are_computed_at_the_close() -> None:
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 100 seconds SLIDE 50 seconds"
    stream = greta.stream(query, numbers="exact")
    stream.push([{"type": "A", "time": time} for time in (*range(30), *range(150, 220), 320)])
    assert not stream.figures.online
    assert "beyond those of doubles" in stream.figures.why[0]
    stream.push([{"type": "A", "time": time} for time in (420, 600)])
    assert stream.figures.online
