"""Files, hostile queries and live streams in a real browser: messages on the page, and the server goes on."""

import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from support.browser import CHROMIUM, DRIVER, MISSING, Page

ENTER = "\ue007"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING),
]


def test_an_uploaded_file_is_mapped_and_queried(page: Page, tmp_path: Path) -> None:
    rows = [f"{1_700_000_000 + i},{20 - i},c" for i in range(10)]
    (tmp_path / "trades.csv").write_text("\n".join(["seconds,price,company", *rows]))
    page.start()
    page.upload(tmp_path / "trades.csv")
    page.wait(lambda: page.all("#map-time"))
    assert page.chosen("#map-time") == "seconds"
    assert page.find("#map-unit").get_attribute("value") == "s"
    page.fill("#map-constant", "Trade")
    page.write("RETURN company, COUNT(*)\nPATTERN Trade T+\nWHERE T.pirce > NEXT(T).price\nGROUP-BY company")
    page.wait(lambda: "did you mean price?" in page.text("#query-problem"))
    page.write("RETURN company, COUNT(*)\nPATTERN Trade T+\nWHERE T.price > NEXT(T).price\nGROUP-BY company")
    page.wait(lambda: page.text("#query-problem") == "")
    page.run()
    page.wait(lambda: "1,023" in page.text("#rows"))


def test_malformed_files_are_messages_and_the_page_goes_on(page: Page, tmp_path: Path) -> None:
    files = {
        "broken.parquet": (b"\x00\xff" * 1000, "broken.parquet: cannot be read"),
        "ragged.csv": (b"time,type\n1,A\n2,B,3,4\n", "ragged.csv"),
        "picture.csv": (bytes(range(256)) * 50, "picture.csv"),
        "empty.csv": (b"", "empty.csv"),
        "half.jsonl": (b'{"time": 1, "type": "A"}\n{"time": 2, ', "half.jsonl"),
        "notes.docx": (b"words", "notes.docx"),
    }
    page.start()
    for name, (content, said) in files.items():
        (tmp_path / name).write_bytes(content)
        page.upload(tmp_path / name)
        page.wait(lambda said=said: said in page.text("#upload-problem"))
        assert "Traceback" not in page.text("body")
    page.choose("#sample", "prices")
    page.wait(lambda: page.text("#rows tbody td") == "275")


@pytest.mark.slow
def test_a_file_of_100_megabytes_runs_with_progress(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "large.csv"
    count = 3_200_000
    numbers = np.arange(count)
    columns = {
        "time": numbers // 10,
        "type": pa.array(["Stock"]).take(np.zeros(count, np.int64)),
        "price": 1_000_000 + numbers * 7919 % 9973,
        "company": pa.array([f"company-{i:03}" for i in range(97)]).take(numbers % 97),
    }
    pyarrow.csv.write_csv(pa.table(columns), file)
    assert file.stat().st_size > 100_000_000
    page.start()
    page.upload(file)
    page.wait(lambda: "large.csv, 1" in page.text("fieldset legend"))
    page.write(
        "RETURN COUNT(*), MIN(S.price)\nPATTERN Stock S+\nWHERE [company] AND S.price > NEXT(S).price\n"
        "WITHIN 1 minute SLIDE 30 seconds"
    )
    page.wait(lambda: "For each window of 1 minute" in page.text("#words"))
    page.run()
    page.wait(lambda: "computing" in page.text(".progress"))
    assert "Cancel" in page.text(".progress")
    page.wait(lambda: "3,200,000 events" in page.text("#summary"))


def test_a_file_over_the_limit_is_refused_with_the_limit(page: Page) -> None:
    page.start()
    # The page looks at the size alone, which a file of this size need not be written for.
    script = """
    const file = new File(["time,type"], "huge.csv"), chosen = new DataTransfer();
    const input = document.querySelector("#upload");
    Object.defineProperty(File.prototype, "size", { get: () => 201_000_000 });
    chosen.items.add(file);
    input.files = chosen.files;
    input.dispatchEvent(new Event("change"));
    """
    page.driver.execute_script(script)
    page.wait(lambda: "up to 200 MB can be uploaded" in page.text("#upload-problem"))


def test_a_long_run_is_cancelled_and_the_next_one_runs(page: Page, tmp_path: Path) -> None:
    rows = "".join(f"{i},A,{i * 7919 % 10_007}\n" for i in range(200_000))
    (tmp_path / "long.csv").write_text("time,type,x\n" + rows)
    page.start()
    page.upload(tmp_path / "long.csv")
    page.wait(lambda: page.all("#map-time"))
    page.write("RETURN COUNT(*)\nPATTERN A+\nWHERE A.x * NEXT(A).x % 7 > 2")
    page.wait(lambda: "% 7" in page.text("#words"))
    page.run()
    page.wait(lambda: "computing" in page.text(".progress"))
    page.click("#cancel")
    page.wait(lambda: "cancelled" in page.text("#run-problem"))
    page.choose("#sample", "paper")
    page.wait(lambda: page.text("#rows tbody td") == "43")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("RETURN COUNT(*) PATTERN (((A{99}){99}){99}){99}", "hint"),
        ("RETURN COUNT(*) PATTERN " + "(" * 120 + "A" + ")" * 120, "nested"),
        ('RETURN COUNT(*) AS "<img src=x onerror=alert(1)>" PATTERN "<script>alert(1)</script>"+', ""),
    ],
)
def test_a_hostile_query_is_answered_on_the_page_and_runs_no_script(page: Page, query: str, said: str) -> None:
    page.ask("paper", query)
    if said:
        page.wait(lambda: said in page.text("#query-problem").lower())
    else:
        page.wait(lambda: "<script>alert(1)</script> events" in page.text("#words"))
        page.run()
        page.wait(lambda: "No event has the type <script>" in page.text("#result"))
    page.choose("#sample", "prices")
    page.wait(lambda: page.text("#rows tbody td") == "275")


def test_a_stream_is_awaited_followed_live_and_seen_to_end(page: Page, directory: Path) -> None:
    stop = threading.Event()
    writer = threading.Thread(target=_write_stream, args=(directory, stop))
    page.open("#follow")
    page.wait(lambda: page.text("#state") == "Waiting")
    assert not directory.exists()
    writer.start()
    try:
        page.wait(lambda: page.text("#state") == "Live")
        page.wait(lambda: page.all("#latest"))
        assert "RETURN segment, sector" in page.text("#streamed-query")
        assert "last update" in page.text("#updated")
        first = page.text("#live-rows")
        page.wait(lambda: page.text("#live-rows") != first)
        colours = _colours(page)
        page.wait(lambda: int(page.text("#live-rows").split()[0]) >= 60)
        tiles = {tile.text.split("\n")[0]: tile.text.split("\n")[1] for tile in page.all(".tile")}
        assert 52_000 <= float(tiles["Events per second"].replace(",", "")) < 60_000
        assert 1 < float(tiles["Lag"].removesuffix(" s")) < 2
        page.wait(lambda: int(page.text(".tile.alarming dd")) > 0)
        assert "Late events" in page.text(".tile.alarming")
        # The largest of the two lines changes; their colours do not.
        assert set(colours) == {"7 · energy", "8 · finance"}
        assert _colours(page) == colours
        # The query beside the rows says that segment, a whole number, is no aggregate.
        assert [option.text for option in page.all("#live-aggregate option")] == ["trends", "cars"]
        assert page.unnamed() == []
        assert {"7 · energy", "8 · finance"} == set(page.find(".chart").accessible_name.partition(": ")[2].split(", "))
        assert page.faint() == []
        page.size(390, 900)
        page.wait(lambda: page.width() <= 390)
        page.size(1280, 900)
        # A picture for readers needs no directory of this machine.
        page.driver.execute_script("document.querySelector('#followed option').textContent = 'out/trends'")
        page.picture("studio-follow")
    finally:
        stop.set()
        writer.join()
    _say(directory, {"time": datetime.now(UTC).isoformat(), "ended": "stopped"})
    page.wait(lambda: page.text("#state") == "Ended")
    assert "the stream was stopped" in page.text("#updated")


def test_a_directory_is_chosen_on_the_page_and_a_wrong_one_is_a_message(page: Page, tmp_path: Path) -> None:
    page.open("#follow")
    page.wait(lambda: page.all("#directory"))
    page.fill("#directory", "~nosuchuser/out", ENTER)
    page.wait(lambda: "there is no user of this name" in page.text("#follow-problem"))
    pyarrow.parquet.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    page.fill("#directory", str(tmp_path), ENTER)
    page.wait(lambda: "not those of a result" in page.text("#stream-problem"))


def _colours(page: Page) -> dict[str, str]:
    """The colour of each line in the legend."""
    script = """
    const colour = (line) => getComputedStyle(line.querySelector(".u-marker")).borderTopColor;
    return Object.fromEntries([...document.querySelectorAll(".follow .u-legend .u-series")].slice(1).map((line) =>
      [line.querySelector(".u-label").textContent, colour(line)]))
    """
    return dict(page.driver.execute_script(script))


def _say(directory: Path, status: dict[str, object]) -> None:
    with (directory / "_greta" / "progress.jsonl").open("a") as out:
        out.write(json.dumps(status) + "\n")


def _write_stream(directory: Path, stop: threading.Event) -> None:
    """What a streaming query leaves: a file and a line of status per trigger."""
    start = datetime(2024, 1, 2, 9, 30, tzinfo=UTC)
    (directory / "_greta").mkdir(parents=True)
    query = "RETURN segment, sector, COUNT(*) AS trends, COUNT(P) AS cars PATTERN P+ GROUP-BY segment, sector"
    (directory / "_greta" / "query.greta").write_text(query)
    batch = 0
    while not stop.wait(0.2):
        begins = [start + timedelta(seconds=10 * batch)] * 2
        counts = [float(round(1e3 * 1.5 ** (batch % 17))), float(round(2e4 * 0.8 ** (batch % 11)))]
        rows = pa.table(
            {
                "window_start": begins,
                "window_end": [moment + timedelta(minutes=10) for moment in begins],
                "segment": [7, 8],
                "sector": ["energy", "finance"],
                "trends": counts,
                "cars": [2.0, 3.0],
            }
        )
        pyarrow.parquet.write_table(rows, directory / f".part-{batch:05}")
        (directory / f".part-{batch:05}").rename(directory / f"part-{batch:05}.parquet")
        status = {
            "time": datetime.now(UTC).isoformat(),
            "batch": batch,
            "events_per_second": 52_000 + batch % 7 * 900,
            "batch_seconds": 0.5 + batch % 5 / 10,
            "lag_seconds": 1.2 + batch % 3 / 4,
            "open_windows": 60,
            "state_bytes": 1_500_000 + batch * 1000,
            "late_events": batch // 9,
        }
        _say(directory, status)
        batch += 1
