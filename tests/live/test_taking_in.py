"""When a stream takes events in: windows that end are answered first, and the nearer the next end, the less is left."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa

import greta
from greta.live.waiting import Waiting

QUERY = "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds"


def event(time: float) -> dict[str, Any]:
    return {"type": "A", "time": float(time)}


#       1  2      9         12 13
# W0 [--●--●------●------)
# W1                     [--●--●
def test_a_push_that_ends_a_window_leaves_later_events_for_the_next_one() -> None:
    stream = greta.stream(QUERY)
    stream.enough = 1
    stream.push([event(time) for time in (1, 2, 9)])
    rows = stream.push([event(time) for time in (12, 13)])
    assert rows["count"].to_pylist() == [7.0]
    # The window of an event that is at the watermark is not open yet.
    assert (stream.figures.waiting_events, stream.figures.open_windows) == (2, 1)
    stream.push(event(14))
    assert (stream.figures.waiting_events, stream.figures.open_windows) == (1, 1)
    assert stream.close()["count"].to_pylist() == [7.0]


# W0 [ 0 1 2 3 4 5 6 7 8 9 )
# taken in         ●     ● ●
def test_events_are_taken_in_half_way_to_the_next_end_again_and_again() -> None:
    stream = greta.stream(QUERY)
    stream.few = 2
    waiting = []
    for second in range(12):
        stream.push([event(second + 0.25), event(second + 0.75)])
        waiting.append(stream.figures.waiting_events)
    # What is at the watermark always waits; the window ends with the eleventh push, whose own events it does not hold.
    assert waiting == [2, 4, 6, 8, 10, 1, 3, 5, 1, 1, 2, 4]


def test_small_pushes_that_wait_are_put_together_a_few_times_and_stay_in_order() -> None:
    draw = random.Random(5)
    waiting, pushed, copied = Waiting(), [], 0
    for _ in range(3_000):
        times = np.array([draw.randrange(10**6) for _ in range(draw.randint(1, 3))], dtype=np.int64)
        before = {id(piece) for piece in waiting.pieces}
        waiting = waiting.extended(pa.table({"time": times}), times)
        copied += sum(len(piece[1]) for piece in waiting.pieces if id(piece) not in before)
        pushed += times.tolist()
        assert len(waiting.pieces) <= 80
    assert waiting.rows == len(pushed)
    assert copied < 10 * len(pushed)
    everything = waiting.everything()
    assert everything is not None
    assert everything[1].tolist() == everything[0]["time"].to_pylist() == sorted(pushed)


def test_many_events_are_taken_in_though_no_window_is_about_to_end() -> None:
    stream = greta.stream(QUERY)
    stream.enough = 100
    for at in range(250):
        stream.push(event(at / 100))
    assert stream.figures.waiting_events < 100
    assert stream.figures.open_windows == 1
