"""The studio's questions and answers, over HTTP but without a browser."""

import asyncio
import csv
import io
import json
import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from greta.datasets import paper
from greta.lang import words
from greta.studio import limits, samples
from greta.studio.app import STATIC, create_app
from greta.studio.limits import Limits
from greta.studio.session import Settings
from greta.studio.workers import Worker, WorkerError
from support.serving import Finish, upload

PAPER = {"sample": "paper"}


def check(client: TestClient, query: str, source: dict[str, Any] | None = None) -> dict[str, Any]:
    answer = client.post("/api/check", json={"query": query, "source": source})
    assert answer.status_code == 200
    return answer.json()


def test_the_page_and_all_it_loads_come_with_the_package(client: TestClient) -> None:
    page = client.get("/").text
    for address in re.findall(r'(?:href|src)="([^"]+)"', page):
        assert "//" not in address
        assert client.get(f"/{address}").status_code == 200
    for module in (STATIC / "js").glob("*.js"):
        for imported in re.findall(r'from "([^"]+)"', module.read_text()):
            assert (module.parent / imported).resolve().is_file(), imported


def test_the_page_has_no_script_that_nothing_uses() -> None:
    modules = {file.name: file.read_text() for file in (STATIC / "js").glob("*.js")}
    for name, text in modules.items():
        others = "".join(other for at, other in modules.items() if at != name)
        imported = " ".join(re.findall(rf'import {{([^}}]*)}} from "\./{name}"', others))
        for export in re.findall(r"^export (?:function|const|class) (\w+)", text, re.MULTILINE):
            assert re.search(rf"\b{export}\b", imported), f"{name}: {export}"
        for taken in re.findall(r"import {([^}]*)}", text):
            for word in re.findall(r"\w+", taken):
                assert len(re.findall(rf"\b{word}\b", text)) > 1, f"{name}: {word}"


def test_the_editor_knows_every_word_of_the_language() -> None:
    offered = (STATIC / "js" / "completion.js").read_text()
    coloured = (STATIC / "js" / "editor.js").read_text()
    for word in (*words.CLAUSES, *words.KEYWORDS, *words.TERMINALS):
        assert re.search(rf"\b{word}\b", offered), word
        assert re.search(rf"\b{word}\b", coloured.replace(r"\s+", " ").replace(r"(?:\s*-\s*| )", "-")), word


def test_the_page_names_no_other_machine() -> None:
    own = [*STATIC.glob("*.*"), *(STATIC / "js").glob("*.js")]
    named = {
        address
        for file in own
        for address in re.findall(r"https?://[^\s\"'<>)]+", file.read_text())
        if address != "http://www.w3.org/2000/svg"
    }
    assert named == set()


def test_each_vendored_file_has_its_licence_beside_it() -> None:
    told = (STATIC / "vendor" / "LICENSES.txt").read_text()
    for package in ("@codemirror/view", "preact", "htm", "uplot"):
        assert f"==== {package} " in told
    assert told.count("Permission is hereby granted") >= 10
    assert "Apache License" in told


def test_the_nonce_of_the_page_is_fresh_and_only_for_styles(client: TestClient) -> None:
    policies = [client.get("/").headers["content-security-policy"] for _ in range(2)]
    assert policies[0] != policies[1]
    assert all(re.search(r"style-src 'self' 'nonce-[\w-]{16,}';", policy) for policy in policies)
    assert all("script-src 'self';" in policy for policy in policies)


def test_files_outside_the_static_directory_are_not_served(client: TestClient) -> None:
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"):
        assert client.get(path).status_code == 404


def test_the_start_states_samples_and_limits(client: TestClient) -> None:
    start = client.get("/api/start").json()
    assert [sample["name"] for sample in start["samples"]] == list(samples.SAMPLES)
    assert start["limits"]["upload_bytes"] == 200_000_000
    assert start["may_choose"] is True


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_every_sample_query_runs_and_has_rows(client: TestClient, finish: Finish, name: str) -> None:
    for text in (question.query for question in samples.SAMPLES[name].questions):
        assert "error" not in check(client, text, {"sample": name})
        run = finish(text, {"sample": name})
        assert run["state"] == "done", run
        assert run["summary"]["rows"] > 0


def test_a_query_is_explained_in_words_tables_and_a_picture(client: TestClient) -> None:
    answer = check(client, paper.Q1, {"sample": "stock"})
    assert answer["words"].startswith("For each window of 10 minutes")
    assert answer["picture"].startswith("<svg")
    assert "<style" not in answer["picture"]
    assert {"name": "price", "kind": "float"} in answer["attributes"]
    assert answer["types"] == [{"name": "Stock", "events": 600}]
    assert answer["drawn"]["attribute"] == "price"
    assert answer["drawn"]["by"] == ["company", "sector"]
    said = json.dumps(answer["sections"])
    assert "O(log n)" in said


def test_an_error_comes_with_carets_and_hint(client: TestClient) -> None:
    error = check(client, "RETURN COUNT(*)\nPATERN A+")["error"]
    assert error["line"] == 2
    assert error["carets"] == "  PATERN A+\n  ^^^^^^"
    assert error["hint"] == "did you mean PATTERN?"
    assert (error["start"], error["stop"]) == (16, 22)


def test_a_query_is_checked_against_the_columns_of_the_data(client: TestClient) -> None:
    query = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.pirce > 5"
    assert "error" not in check(client, query)
    error = check(client, query, {"sample": "stock"})["error"]
    assert "pirce" in error["message"]
    assert "price" in error["hint"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "(" * 5_000,
        "RETURN COUNT(*) PATTERN " + "(" * 5_000 + "A" + ")" * 5_000,
        "RETURN COUNT(*) PATTERN A{1000000}",
        "RETURN COUNT(*) PATTERN (((A{99}){99}){99}){99}",
        "RETURN COUNT(*) PATTERN SEQ(" + ", ".join(f"A{i}*" for i in range(800)) + ")",
        "RETURN COUNT(*) PATTERN A+ WHERE " + "NOT " * 4_000 + "A.x > 1",
        "\0\ud800",
        "RETURN COUNT(*) PATTERN A+ WITHIN 99999999999999999999 days",
    ],
)
def test_a_hostile_query_gets_an_error_and_the_server_goes_on(client: TestClient, query: str) -> None:
    content = json.dumps({"query": query, "source": PAPER})
    answer = client.post("/api/check", content=content, headers={"Content-Type": "application/json"})
    assert answer.json()["error"]["message"]
    assert "error" not in check(client, "RETURN COUNT(*) PATTERN A+", PAPER)


def test_names_in_a_query_cannot_become_markup(client: TestClient) -> None:
    answer = check(client, 'RETURN COUNT(*) PATTERN "<script>alert(1)</script>"+')
    assert "<script" not in answer["picture"]


def test_a_query_longer_than_the_limit_is_refused(client: TestClient) -> None:
    answer = client.post("/api/check", json={"query": "A" * (limits.LIMITS.query_characters + 1)})
    assert answer.status_code == 413
    assert "longer than 20,000 characters" in answer.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000, b'{"query": 7}', b"x" * 300_000])
def test_a_request_that_is_no_question_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/check", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 413)
    assert answer.json()["error"]["message"]


def test_the_papers_stream_has_43_trends(client: TestClient, finish: Finish) -> None:
    run = finish("RETURN COUNT(*) PATTERN SEQ(A+, B)+", PAPER)
    page = client.get(f"/api/runs/{run['id']}/rows").json()
    assert page["rows"] == [[None, None, 43.0]]
    assert run["summary"]["windowed"] is False


def test_exact_numbers_are_digits(client: TestClient, finish: Finish) -> None:
    run = finish("RETURN COUNT(*) PATTERN SEQ(A+, B)+", PAPER, exact=True)
    assert client.get(f"/api/runs/{run['id']}/rows").json()["rows"] == [[None, None, "43"]]


def test_rows_come_in_pages_and_as_csv(client: TestClient, finish: Finish) -> None:
    run = finish(samples.SAMPLES["stock"].questions[0].query, {"sample": "stock"})
    total = run["summary"]["rows"]
    first = client.get(f"/api/runs/{run['id']}/rows", params={"offset": 0, "limit": 2}).json()
    second = client.get(f"/api/runs/{run['id']}/rows", params={"offset": 1, "limit": 2}).json()
    assert first["total"] == total
    assert first["rows"][1] == second["rows"][0]
    assert first["columns"] == ["window_start", "window_end", "sector", "count"]
    assert first["rows"][0][0].startswith("2024-01-02 09:2")
    file = client.get(f"/api/runs/{run['id']}/rows.csv")
    assert file.headers["content-type"].startswith("text/csv")
    assert len(file.text.splitlines()) == total + 1


def test_a_csv_file_has_no_cell_that_a_spreadsheet_would_run(client: TestClient, finish: Finish) -> None:
    names = ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "＝1+1", "plain"]
    lines = "".join(f'{i},Stock,"{name}"\n' for i, name in enumerate(names))
    found = upload(client, "names.csv", f"time,type,company\n{lines}".encode()).json()
    query = 'RETURN company, COUNT(*) AS "=n", MIN(S.time) AS least PATTERN Stock S+ GROUP-BY company'
    run = finish(query, {"upload": found["upload"], "time": "time", "type": "type"}, exact=True)
    text = client.get(f"/api/runs/{run['id']}/rows.csv").text
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["window_start", "window_end", "company", "'=n", "least"]
    assert sorted(row[2] for row in rows[1:]) == sorted([*(f"'{name}" for name in names[:-1]), "plain"])
    assert {row[3] for row in rows[1:]} == {"1"}


def test_rows_come_as_parquet_with_every_value_as_it_is(client: TestClient, finish: Finish) -> None:
    run = finish('RETURN COUNT(*) AS "=n" PATTERN SEQ(A+, B)+', PAPER, exact=True)
    answer = client.get(f"/api/runs/{run['id']}/rows.parquet")
    assert pyarrow.parquet.read_table(io.BytesIO(answer.content)).column("=n").to_pylist() == ["43"]
    assert 'filename="rows.parquet"' in answer.headers["content-disposition"]


def test_a_chart_has_a_line_per_group_over_ascending_time(client: TestClient, finish: Finish) -> None:
    run = finish(samples.SAMPLES["stock"].questions[0].query, {"sample": "stock"})
    chart = client.get(f"/api/runs/{run['id']}/series", params={"column": "count"}).json()
    assert {line["name"] for line in chart["lines"]} == {"energy", "finance", "health", "technology"}
    assert chart["times"] == sorted(set(chart["times"]))
    assert all(len(line["values"]) == len(chart["times"]) for line in chart["lines"])
    assert client.get(f"/api/runs/{run['id']}/series", params={"column": "nope"}).status_code == 404


def test_what_the_query_compares_is_drawn_over_time_per_partition(client: TestClient) -> None:
    asked = {"source": {"sample": "stock"}, "attribute": "price", "by": ["company"]}
    lines = client.post("/api/attribute", json=asked).json()
    assert [line["name"] for line in lines["lines"]] == ["C01", "C02", "C03", "C04"]
    assert lines["times"] == sorted(lines["times"])
    drawn = sum(value is not None for line in lines["lines"] for value in line["values"])
    assert drawn == lines["events"] == 600
    wrong = client.post("/api/attribute", json=asked | {"attribute": "pirce"})
    assert "no column pirce" in wrong.json()["error"]["message"]
    assert client.post("/api/attribute", json=asked | {"by": "company"}).status_code == 400


def test_columns_and_first_rows_of_a_sample_are_told(client: TestClient) -> None:
    told = client.post("/api/outline", json={"source": {"sample": "jobs"}}).json()
    assert [column["name"] for column in told["columns"]] == ["type", "time", "job", "node", "load"]
    assert len(told["rows"]) == 5
    assert told["events"] == len(samples.events("jobs"))


def test_a_run_without_rows_says_which_types_there_are(finish: Finish) -> None:
    run = finish("RETURN COUNT(*) PATTERN Stok S+", {"sample": "prices"})
    assert run["summary"]["rows"] == 0
    assert run["summary"]["notes"] == ["No event has the type Stok. Types in the data: Stock."]


def test_a_run_that_fails_says_why(finish: Finish) -> None:
    run = finish("RETURN COUNT(*) PATTERN Stock S+ WHERE S.sector > 3", {"sample": "prices"})
    assert run["state"] == "failed"
    assert run["error"]["line"] == 1


def test_unknown_runs_uploads_samples_and_directories_are_named_as_such(client: TestClient) -> None:
    assert client.get("/api/runs/nope").status_code == 404
    assert client.get("/api/follow/nope").status_code == 404
    lost = client.post("/api/runs", json={"query": "x", "source": {"upload": "../../etc/passwd"}})
    assert lost.status_code == 404
    assert check(client, "RETURN COUNT(*) PATTERN A+", {"sample": "nope"})["data_error"]["message"]


CSV = b"ts,kind,price,company\n" + b"".join(b"2024-01-02T09:30:%02dZ,Stock,%d,c\n" % (i, 10 - i) for i in range(8))


def test_an_uploaded_csv_is_looked_at_mapped_and_run(client: TestClient, finish: Finish) -> None:
    found = upload(client, "trades.csv", CSV).json()
    assert found["name"] == "trades.csv"
    assert found["guess"] == {"time": "ts", "time_unit": None, "type": "kind"}
    assert [column["kind"] for column in found["columns"]] == ["timestamp", "text", "integer", "text"]
    source = {"upload": found["upload"], "time": "ts", "type": "kind"}
    query = "RETURN company, COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price GROUP-BY company"
    assert "error" not in check(client, query, source)
    run = finish(query, source)
    assert client.get(f"/api/runs/{run['id']}/rows").json()["rows"] == [[None, None, "c", 255.0]]


def test_a_file_without_types_gets_one_for_all_its_events(client: TestClient, finish: Finish) -> None:
    lines = b"".join(b'{"at": %d, "v": 1}\n' % (1_700_000_000_000 + i) for i in range(3))
    found = upload(client, "ticks.jsonl", lines).json()
    assert found["guess"] == {"time": "at", "time_unit": "ms", "type": None}
    source = {"upload": found["upload"], "time": "at", "time_unit": "ms", "event_type": "Tick"}
    run = finish("RETURN COUNT(*) PATTERN Tick+ WITHIN 1 day", source)
    assert client.get(f"/api/runs/{run['id']}/rows").json()["rows"][0][2] == 7.0


def test_an_uploaded_parquet_file_is_read(client: TestClient, finish: Finish, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(paper.I, tmp_path / "i.parquet")
    found = upload(client, "i.parquet", (tmp_path / "i.parquet").read_bytes()).json()
    run = finish("RETURN COUNT(*) PATTERN SEQ(A+, B)+", {"upload": found["upload"], "time": "time", "type": "type"})
    assert client.get(f"/api/runs/{run['id']}/rows").json()["rows"][0][2] == 43.0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("noise.parquet", b"\x00\xff" * 500),
        ("noise.csv", b"\xff\xfe\x00" * 500),
        ("noise.json", b"[1, 2, 3"),
        ("nothing.csv", b""),
        ("program.exe", b"MZ"),
        ("cut.parquet", b"PAR1" + b"\0" * 100 + b"PAR1"),
        ("ragged.csv", b"a,b\n1,2\n3\n"),
        ("../../../etc/x.json", b"{"),
    ],
)
def test_a_malformed_upload_is_a_message_and_leaves_nothing_behind(
    client: TestClient, name: str, content: bytes
) -> None:
    answer = upload(client, name, content)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["message"]
    assert "greta-studio" not in json.dumps(error)
    kept = client.app.state.session.uploads._directory
    assert not list(kept.rglob(Path(name).name))


def test_a_bad_value_deep_in_a_file_is_named_by_line_and_without_the_studios_path(
    client: TestClient, finish: Finish
) -> None:
    found = upload(client, "late.csv", b"time,type\n1,A\n2,A\nsoon,A\n").json()
    run = finish("RETURN COUNT(*) PATTERN A+", {"upload": found["upload"], "time": "time", "type": "type"})
    assert run["state"] == "failed"
    assert run["error"]["message"].startswith("late.csv:4: column time: 'soon'")


def test_a_file_over_the_limit_is_refused_before_and_while_it_is_read() -> None:
    settings = Settings(limits=Limits(upload_bytes=1_000))
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8400") as client:
        told = upload(client, "big.csv", b"x" * 2_000)
        untold = client.post(
            "/api/uploads",
            params={"name": "big.csv"},
            content=iter([b"x" * 600] * 3),
            headers={"Content-Type": "application/octet-stream"},
        )
        for answer in (told, untold):
            assert answer.status_code == 413
            assert "larger than 0.001 MB" in answer.json()["error"]["message"]
            assert "--max-upload" in answer.json()["error"]["hint"]


def test_old_uploads_are_forgotten(client: TestClient) -> None:
    first = upload(client, "a.csv", CSV).json()["upload"]
    for _ in range(limits.LIMITS.uploads_kept):
        upload(client, "b.csv", CSV)
    lost = client.post("/api/runs", json={"query": "x", "source": {"upload": first}})
    assert lost.json()["error"]["hint"] == "upload it again"


def test_a_long_run_tells_its_phase_and_can_be_cancelled(client: TestClient, finish: Finish) -> None:
    # Every pair of events is compared by a general condition: hours of work.
    rows = b"".join(b"%d,A,%d\n" % (i, i * 7919 % 10_007) for i in range(400_000))
    found = upload(client, "long.csv", b"time,type,x\n" + rows).json()
    source = {"upload": found["upload"], "time": "time", "type": "type"}
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).x % 7 > 2"
    run = client.post("/api/runs", json={"query": query, "source": source}).json()
    while (now := client.get(f"/api/runs/{run['id']}").json())["phase"] != "computing":
        assert now["state"] == "running", now
        time.sleep(0.05)
    assert client.get(f"/api/runs/{run['id']}/rows").status_code == 409
    assert client.delete(f"/api/runs/{run['id']}").json()["state"] == "cancelled"
    assert finish("RETURN COUNT(*) PATTERN A+", PAPER)["state"] == "done"


def test_a_third_run_at_once_has_to_wait(client: TestClient) -> None:
    rows = b"".join(b"%d,A,%d\n" % (i, i * 7919 % 10_007) for i in range(200_000))
    found = upload(client, "long.csv", b"time,type,x\n" + rows).json()
    source = {"upload": found["upload"], "time": "time", "type": "type"}
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).x % 7 > 2"
    runs = [client.post("/api/runs", json={"query": query, "source": source}) for _ in range(3)]
    assert [run.status_code for run in runs] == [202, 202, 429]
    for run in runs[:2]:
        client.delete(f"/api/runs/{run.json()['id']}")


def test_cutting_a_stream_into_stretches_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from greta.studio import running

    monkeypatch.setattr(running, "_FEWEST_WINDOWS", 1)

    def rows(source: str, query: str, stretch: int) -> tuple[pa.Table, list[float | None]]:
        monkeypatch.setattr(running, "_STRETCH_EVENTS", stretch)
        done: list[float | None] = []
        result = str(tmp_path / "rows.arrow")
        running.run(query, {"sample": source}, "exact", result, lambda _, share: done.append(share))
        return pa.feather.read_table(result, memory_map=False), done

    sliding = "RETURN COUNT(*) PATTERN SEQ(A+, B)+ WITHIN 2 seconds SLIDE 1 second"
    peaks = samples.SAMPLES["stock"].questions[3].query
    for source, query in (("stock", peaks), ("paper", sliding)):
        whole, _ = rows(source, query, 10**9)
        cut, done = rows(source, query, 2)
        assert len([share for share in done if share]) > 1
        order = [(name, "ascending") for name in whole.column_names]
        assert cut.sort_by(order) == whole.sort_by(order)


def test_a_question_that_takes_too_long_ends_its_process_and_the_next_one_is_answered() -> None:
    async def ask() -> None:
        worker = Worker()
        await worker.ask("check", query="RETURN COUNT(*) PATTERN A+")
        before = worker.pid
        with pytest.raises(WorkerError, match="took longer than"):
            await worker.ask("samples", timeout=0.0001)
        assert worker.pid is None
        assert "words" in await worker.ask("check", query="RETURN COUNT(*) PATTERN A+")
        assert worker.pid != before
        await worker.stop()

    asyncio.run(ask())
