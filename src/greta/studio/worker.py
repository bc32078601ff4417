"""A worker process: one JSON question per line on stdin, progress and one answer per line on stdout.

Everything that touches a user's query or file happens here, where it can be ended without ending the server.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from importlib import import_module
from queue import SimpleQueue
from typing import Any, TextIO

from greta.errors import GretaError, visible
from greta.studio.problems import describe

Send = Callable[[dict[str, Any]], None]

_STUDIO = "greta.studio"
ANSWERS: dict[str, tuple[str, str]] = {
    "samples": (f"{_STUDIO}.answers", "offers"),
    "check": (f"{_STUDIO}.answers", "check"),
    "snippets": (f"{_STUDIO}.snippets", "snippets"),
    "inspect": (f"{_STUDIO}.sources", "inspect"),
    "outline": (f"{_STUDIO}.sources", "outline"),
    "attribute": (f"{_STUDIO}.sources", "attribute"),
    "warm": ("greta.engine.warm", "warm"),
    "run": (f"{_STUDIO}.running", "run"),
    "rows": (f"{_STUDIO}.results", "rows"),
    "series": (f"{_STUDIO}.results", "series"),
    "csv": (f"{_STUDIO}.results", "save_csv"),
    "parquet": (f"{_STUDIO}.results", "save_parquet"),
    "graph": (f"{_STUDIO}.graphs", "graph"),
    "trends": (f"{_STUDIO}.trends", "trends"),
    "follow": (f"{_STUDIO}.following", "follow"),
}
"""Who answers which question: a module, loaded when it is first needed so that checking starts fast, and a function."""


def answer(question: dict[str, Any], send: Send) -> dict[str, Any]:
    """The answer to one question; a run tells of its progress meanwhile."""
    module, function = ANSWERS[question["ask"]]
    arguments = dict(question["arguments"])
    if question["ask"] == "run":
        arguments["progress"] = lambda phase, done: send({"phase": phase, "done": done})
    return getattr(import_module(module), function)(**arguments) or {}


def main() -> None:
    """Answer questions until stdin ends; then leave at once, even from the middle of a computation."""
    # What libraries print must not be taken for an answer.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _limit_memory()
    questions: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, questions), daemon=True).start()
    while True:
        _reply(json.loads(questions.get()), lambda message: _send(out, message))


def _reply(question: dict[str, Any], send: Send) -> None:
    try:
        send({"answer": answer(question, send)})
    except GretaError as error:
        send({"error": describe(error, question["arguments"].get("query"))})
    except MemoryError:
        hint = "take fewer events, a shorter window, or a longer slide"
        send({"error": {"message": "there is not enough memory for this", "hint": hint}})
    except RecursionError:
        hint = "take out nesting that changes nothing"
        send({"error": {"message": "this is nested too deeply", "hint": hint}})
    except Exception as error:  # noqa: BLE001 - whatever it is, the page is told, and the next question answered
        send({"error": unexpected(error)})


def unexpected(error: Exception) -> dict[str, Any]:
    """An error that nobody foresaw, as what it is: its kind, its words, and the place in greta that it passed last."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if f"{os.sep}greta{os.sep}" in frame.filename]
    where = ""
    if inside:
        module = inside[-1].filename.rpartition(f"{os.sep}greta{os.sep}")[2]
        where = f" (greta/{module}, line {inside[-1].lineno})"
    said = "".join(traceback.format_exception_only(error)).strip()
    return {
        "message": visible(f"greta met an error that it did not foresee: {said[:500]}{where}", keep="\n"),
        "hint": "this is a mistake in greta, not in your query: please report it with the query and these words",
    }


def _listen(stdin: TextIO, questions: SimpleQueue[str]) -> None:
    for line in stdin:
        questions.put(line)
    os._exit(0)


def _send(out: TextIO, message: dict[str, Any]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


def _limit_memory() -> None:
    """Leave a tenth of the machine's memory to others: a query that wants it all fails alone."""
    try:
        import resource

        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = total // 10 * 9
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))
    except (ImportError, ValueError, OSError):
        # Not every system has such limits; the studio works without.
        return


if __name__ == "__main__":
    main()
