"""Ctrl-C is heard within two seconds, whichever kernel runs; each of these queries would run for minutes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import pyarrow as pa
import pytest

from greta import aggregate
from greta.engine.interrupts import heed, interruptible, stop_flag

GENERAL = "A.x * NEXT(A).x % 7 != NEXT(A).x + A.x"
"""Decided pair by pair."""
QUERIES = {
    "counts": f"aggregate(rising, 'RETURN COUNT(*) PATTERN A+ WHERE {GENERAL}')",
    "sums": f"aggregate(rising, 'RETURN SUM(A.x), MAX(A.x) PATTERN A+ WHERE {GENERAL}')",
    "exact numbers": f"aggregate(rising, 'RETURN COUNT(*) PATTERN A+ WHERE {GENERAL}', numbers='exact')",
    "windows": f"aggregate(rising, 'RETURN COUNT(*) PATTERN A+ WHERE {GENERAL} WITHIN 1 day SLIDE 1 hour')",
    "negation": (
        "aggregate(rising, 'RETURN COUNT(*) PATTERN SEQ(A a, NOT SEQ(A b, A c), A d) "
        "WHERE b.x * NEXT(c).x % 7 != NEXT(c).x + b.x')"
    ),
    "next match": f"aggregate(ties, 'RETURN COUNT(*) PATTERN A+ SEMANTICS skip-till-next-match WHERE {GENERAL}')",
    "contiguous": f"aggregate(ties, 'RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WHERE {GENERAL}')",
    "longest trends": f"trends(rising, 'RETURN COUNT(*) PATTERN A+ WHERE {GENERAL}', pick='longest')",
    "trends of layers": (
        f"trends(ties, 'RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WHERE {GENERAL}', pick='longest')"
    ),
}

PROGRAM = """
import json, os, signal, sys, threading, time, warnings
import numpy as np, pyarrow as pa
from greta import aggregate, trends

warnings.simplefilter("ignore")
# Whoever runs tests in the background has them ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
x = pa.array(np.arange(400_000) * 7919 % 1000)
types = pa.array(["A"]).take(pa.array(np.zeros(len(x), dtype=np.int64)))
rising = pa.table({"type": types, "time": pa.array(np.arange(len(x))), "x": x})
ties = pa.table({"type": types, "time": pa.array(np.arange(len(x)) // 200_000), "x": x})
whole = rising, ties
seconds = {}
for name, call in CALLS.items():
    rising, ties = (table.slice(199_960, 80) for table in whole)
    call()  # loads its kernels
    rising, ties = whole
    sent = []
    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(0.3, interrupt)
    timer.start()
    try:
        call()
        seconds[name] = "was not interrupted"
    except KeyboardInterrupt:
        seconds[name] = time.monotonic() - sent[0]
    timer.cancel()
print(json.dumps(seconds))
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="is about compiled code")
@pytest.mark.timeout(600)
def test_every_kernel_hears_ctrl_c_within_two_seconds() -> None:
    # Written out: a string that ``eval`` runs counts as not having caught the interrupt when Python ends.
    calls = ", ".join(f"{name!r}: lambda: {call}" for name, call in QUERIES.items())
    program = PROGRAM.replace("CALLS", "{" + calls + "}")
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    seconds: dict[str, Any] = json.loads(answer.stdout)
    assert set(seconds) == set(QUERIES)
    slow = {name: took for name, took in seconds.items() if not isinstance(took, float) or took > 2.0}
    assert not slow


def test_a_result_and_an_error_come_through() -> None:
    assert interruptible(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)


def test_work_that_was_stopped_is_done_again_where_ctrl_c_raises_nothing() -> None:
    heard: list[int] = []

    def work() -> str:
        if not heard:
            signal.raise_signal(signal.SIGINT)
            while stop_flag()[0] == 0:
                time.sleep(0.001)
        heed()
        return "done"

    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        assert interruptible(work) == "done"
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
    heed()


def test_an_event_loop_still_hears_of_signals() -> None:
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    ear.settimeout(10)
    before = signal.set_wakeup_fd(mouth.fileno())
    was = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    try:
        interruptible(lambda: signal.raise_signal(signal.SIGUSR1))
        assert ear.recv(1) == bytes([signal.SIGUSR1])
        assert signal.set_wakeup_fd(before) == mouth.fileno()
    finally:
        signal.signal(signal.SIGUSR1, was)
        signal.set_wakeup_fd(before)
        ear.close()
        mouth.close()


def test_a_forked_child_computes_too() -> None:
    events = pa.table({"type": ["A"] * 3, "time": [1, 2, 3]})
    query = "RETURN COUNT(*) AS n PATTERN A+"
    aggregate(events, query)
    with warnings.catch_warnings():
        # Newer Pythons warn of any fork beside a thread.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(int(aggregate(events, query)["n"][0].as_py()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_threads_may_compute_at_the_same_time() -> None:
    events = pa.table({"type": ["A"] * 3, "time": [1, 2, 3]})
    counts: list[Any] = []

    def compute() -> None:
        counts.append(aggregate(events, "RETURN COUNT(*) AS n PATTERN A+").column("n").to_pylist())

    workers = [threading.Thread(target=compute) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert counts == [[7.0]] * 4
