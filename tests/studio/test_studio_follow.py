"""Following a directory of results that grows."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from greta.errors import DataError
from greta.studio import following
from greta.studio.app import create_app
from greta.studio.following import Follower
from greta.studio.session import Settings

EPOCH = datetime(2024, 1, 2, 9, 30, tzinfo=UTC)


def write(directory: Path, name: str, windows: range, **columns: list[Any]) -> None:
    starts = [EPOCH + timedelta(minutes=i) for i in windows]
    size = len(starts)
    given = columns or {"sector": ["energy"] * size, "count": [float(i + 1) for i in windows]}
    table = pa.table({"window_start": starts, "window_end": [s + timedelta(minutes=5) for s in starts], **given})
    directory.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(table, directory / name)


def test_new_files_are_read_once_and_hidden_ones_never(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    assert follower.look(None)["total"] == 0
    write(tmp_path, "part-0.parquet", range(3))
    write(tmp_path, ".part-1.parquet", range(3))
    write(tmp_path / "_spark_metadata", "part-2.parquet", range(3))
    assert follower.look(None)["total"] == 3
    write(tmp_path, "part-3.parquet", range(3, 5))
    answer = follower.look(None)
    assert (answer["total"], answer["files"]) == (5, 2)
    assert answer["groups"] == ["sector"]
    (line,) = answer["chart"]["lines"]
    assert (line["name"], line["values"]) == ("energy", [1.0, 2.0, 3.0, 4.0, 5.0])
    assert answer["latest"][0] == ["2024-01-02 09:34:00", "2024-01-02 09:39:00", "energy", 5.0]


def test_a_file_that_is_still_written_is_tried_again(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1 half of it")
    assert follower.look(None)["unreadable"] == ["part-0.parquet"]
    write(tmp_path, "part-0.parquet", range(2))
    answer = follower.look(None)
    assert (answer["unreadable"], answer["total"]) == ([], 2)


def test_only_the_newest_rows_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_ROWS_KEPT", 10)
    follower = Follower(tmp_path)
    write(tmp_path, "part-0.parquet", range(40))
    answer = follower.look(None)
    assert (answer["total"], answer["kept"]) == (40, 5)
    assert answer["chart"]["lines"][0]["values"] == [36.0, 37.0, 38.0, 39.0, 40.0]


def test_the_query_beside_the_rows_says_what_the_groups_are(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"segment": [1, 2], "slowest": [7, 8]}
    write(tmp_path, "part-0.parquet", range(2), **columns)
    assert Follower(tmp_path).look(None)["groups"] == ["segment"]
    (tmp_path / "_greta").mkdir()
    (tmp_path / "_greta" / "query.greta").write_text(
        "RETURN segment, MIN(P.speed) AS slowest PATTERN Position P+ GROUP-BY segment"
    )
    assert Follower(tmp_path).look("slowest")["chart"]["column"] == "slowest"


def test_the_query_beside_the_rows_says_what_the_aggregates_are(tmp_path: Path) -> None:
    exact = {"segment": [1, 2], "cars": ["7", "8"], "slowest": [7.5, 8.5], "final": [False, True]}
    write(tmp_path, "part-0.parquet", range(2), **exact)
    guessed = Follower(tmp_path).look(None)
    assert (guessed["groups"], guessed["aggregates"]) == (["segment", "cars"], ["slowest"])
    (tmp_path / "_greta").mkdir()
    (tmp_path / "_greta" / "query.greta").write_text(
        "RETURN segment, COUNT(P) AS cars, MIN(P.speed) AS slowest PATTERN Position P+ GROUP-BY segment"
    )
    told = Follower(tmp_path).look(None)
    assert (told["groups"], told["aggregates"]) == (["segment"], ["cars", "slowest"])
    lines = {line["name"]: line["values"] for line in told["chart"]["lines"]}
    assert lines == {"2": [None, 8.0], "1": [7.0, None]}


@pytest.mark.parametrize("text", ["RETURN other, COUNT(*) PATTERN A+ GROUP-BY other", "no query", "\x00"])
def test_a_query_that_does_not_fit_the_rows_is_passed_over(tmp_path: Path, text: str) -> None:
    write(tmp_path, "part-0.parquet", range(2))
    (tmp_path / "_greta").mkdir()
    (tmp_path / "_greta" / "query.greta").write_text(text)
    answer = Follower(tmp_path).look(None)
    assert (answer["groups"], answer["aggregates"]) == (["sector"], ["count"])


def test_the_status_file_gives_throughput_lag_and_late_events(tmp_path: Path) -> None:
    place = tmp_path / "_greta"
    place.mkdir()
    triggers = [{"batch": 0, "events_per_second": 100.5, "lag_seconds": 2, "late_events": 0}, {"late_events": 7}]
    lines = "\n".join(json.dumps(trigger) for trigger in triggers)
    (place / "progress.jsonl").write_text(lines + '\n[1]\n{"late_ev')
    status = Follower(tmp_path).look(None)["status"]
    assert status["late_events"] == [0, 7]
    assert status["events_per_second"] == [100.5, None]


def test_a_directory_of_something_else_is_an_error_that_says_so(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="not those of a result"):
        Follower(tmp_path).look(None)


def test_a_directory_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "out" / "trends")
    assert follower.look(None)["state"] == "awaited"
    write(tmp_path / "out" / "trends", "part-0.parquet", range(2))
    answer = follower.look(None)
    assert (answer["state"], answer["total"]) == ("live", 2)


def status(directory: Path, *lines: dict[str, Any]) -> None:
    (directory / "_greta").mkdir(exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (directory / "_greta" / "progress.jsonl").write_text(text)


def test_a_stream_is_live_quiet_or_ended_and_its_last_update_is_told(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    old = now - timedelta(seconds=following.QUIET_SECONDS + 30)
    status(tmp_path, {"time": old.isoformat(), "late_events": 3})
    quiet = Follower(tmp_path).look(None)
    assert quiet["state"] == "quiet"
    assert quiet["updated"] == pytest.approx(old.timestamp())
    status(tmp_path, {"time": now.isoformat(), "late_events": 3})
    assert Follower(tmp_path).look(None)["state"] == "live"
    for how, state in (("stopped", "ended"), ("failed", "failed")):
        status(tmp_path, {"time": old.isoformat(), "late_events": 3}, {"time": now.isoformat(), "ended": how})
        ended = Follower(tmp_path).look(None)
        assert ended["state"] == state
        assert ended["updated"] == pytest.approx(now.timestamp())
        assert ended["status"]["late_events"] == [3]


def test_the_query_of_a_stream_is_shown(tmp_path: Path) -> None:
    assert Follower(tmp_path).look(None)["query"] is None
    (tmp_path / "_greta").mkdir()
    (tmp_path / "_greta" / "query.greta").write_text("RETURN COUNT(*)\nPATTERN A+")
    assert Follower(tmp_path).look(None)["query"] == "RETURN COUNT(*)\nPATTERN A+"


def test_the_directory_of_the_command_line_is_followed_over_http(client: TestClient, followed: Path) -> None:
    (entry,) = client.get("/api/start").json()["followed"]
    assert entry["path"] == str(followed)
    write(followed, "part-0.parquet", range(4))
    answer = client.get(f"/api/follow/{entry['id']}", params={"column": "count"}).json()
    assert answer["total"] == 4


def test_a_directory_named_on_the_page_is_followed_and_a_wrong_one_is_a_message(
    client: TestClient, tmp_path: Path
) -> None:
    found = client.post("/api/follow", json={"path": str(tmp_path)}).json()
    assert client.get(f"/api/follow/{found['id']}").json()["total"] == 0
    assert client.post("/api/follow", json={"path": str(tmp_path)}).json() == found
    wrong = {"": "no directory", "a\0b": "no directory", None: "no directory", __file__: "this is a file"}
    for path, said in (wrong | {"~nosuchuser/out": "no user of this name"}).items():
        refused = client.post("/api/follow", json={"path": path})
        assert refused.status_code == 400
        assert said in refused.json()["error"]["message"]


def test_an_open_studio_follows_only_what_the_command_line_names(tmp_path: Path) -> None:
    with TestClient(create_app(Settings(host="0.0.0.0")), base_url="http://192.168.0.7:8400") as client:
        refused = client.post("/api/follow", json={"path": str(tmp_path)})
        assert refused.status_code == 403
        assert "--follow" in refused.json()["error"]["hint"]


class Ended:
    """A Spark query that is over."""

    isActive = False  # noqa: N815 - Spark's name
    recentProgress = ()  # noqa: N815

    def exception(self) -> None:
        return None


def test_the_end_of_a_stream_is_written_where_it_is_followed_and_keeps_what_was_late(tmp_path: Path) -> None:
    stream_run = pytest.importorskip("greta.spark.stream.run", reason="pyspark is not installed")
    status(tmp_path, {"time": datetime.now(UTC).isoformat(), "late_events": 3, "bad_records": 1})
    for _ in range(2):
        watch = stream_run.Watch(Ended(), tmp_path / "_greta" / "progress.jsonl")
        assert (watch.late, watch.bad) == (3, 1)
        watch.until(lambda: True)
        assert Follower(tmp_path).look(None)["state"] == "ended"
