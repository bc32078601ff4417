"""Where a result is probably not the one that was meant, a note says why and what to do."""

import pytest
from starlette.testclient import TestClient

from support.serving import Finish, upload

RISES = "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x"


@pytest.mark.parametrize(
    ("query", "rows", "said"),
    [
        ("RETURN COUNT(*) PATTERN A+ WHERE A.x > A.x", "1,A,5\n2,A,6", "did you mean A.x > NEXT(A).x?"),
        (RISES, "1,A,v10\n2,A,v9", ""),
        (RISES, "1700000000000,A,5\n1700000000001,A,6", "look like milliseconds since 1970"),
        (RISES, "1,A,5\n1,A,6", "all events have the same time"),
        (RISES, "1,B,5\n2,B,6", "No event has the type A. Types in the data: B."),
        (RISES, "1,A,5\n2,A,6", ""),
    ],
)
def test_a_result_comes_with_its_doubts(client: TestClient, finish: Finish, query: str, rows: str, said: str) -> None:
    found = upload(client, "events.csv", f"time,type,x\n{rows}\n".encode()).json()
    notes = finish(query, {"upload": found["upload"], "time": "time", "type": "type"})["summary"]["notes"]
    assert any(said in note for note in notes) if said else notes == []


def test_an_order_of_text_that_reads_as_numbers_is_noted(client: TestClient, finish: Finish) -> None:
    lines = b'{"time": 1, "type": "A", "x": "10"}\n{"time": 2, "type": "A", "x": "9"}\n'
    found = upload(client, "events.jsonl", lines).json()
    (note,) = finish(RISES, {"upload": found["upload"], "time": "time", "type": "type"})["summary"]["notes"]
    assert note.startswith("x is text that reads as numbers")
    assert "make the column x a number first" in note
