"""The studio in a real browser, as a person meets it. ``GRETA_SCREENSHOTS`` names a directory for pictures."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import greta
from greta.datasets import paper
from greta.studio import samples

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="there is no chromium with its chromedriver"),
]
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SECONDS = 60


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("output")


@pytest.fixture(scope="module")
def address(directory: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "greta.cli", "studio", "--no-browser", "--port", "0", "--follow", str(directory)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as studio:
        assert studio.stderr is not None
        yield studio.stderr.readline().split()[2]
        studio.send_signal(signal.SIGINT)
        said = studio.stderr.read()
        assert studio.wait(timeout=20) == 0
    assert "Traceback" not in said, said


class Page:
    """A browser, and what people do with it."""

    def __init__(self, address: str, profile: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for flag in (*FLAGS, f"--user-data-dir={profile}", "--window-size=1280,1000"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.address = address

    def open(self, place: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(self.address + place)
        self.wait(lambda: self.find("h1"))

    def find(self, css: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def text(self, css: str) -> str:
        found = self.all(css)
        return found[0].text if found else ""

    def wait(self, holds: Callable[[], Any]) -> Any:
        """Until something is there; the page re-renders, so elements may vanish while they are looked at."""
        from selenium.common.exceptions import WebDriverException

        until = time.monotonic() + SECONDS
        while True:
            try:
                if value := holds():
                    return value
            except WebDriverException:
                pass
            assert time.monotonic() < until, f"waited in vain; the page says:\n{self.text('body')}"
            time.sleep(0.1)

    def write(self, query: str) -> None:
        """Replace the query by typing."""
        editor = self.find(".cm-content")
        editor.click()
        editor.send_keys(Keys.CONTROL, "a")
        editor.send_keys(Keys.DELETE)
        for line in query.strip().splitlines():
            # Escape closes the list of completions, which would take the Enter.
            editor.send_keys(line, Keys.ESCAPE, Keys.ENTER)

    def run(self) -> None:
        self.find(".cm-content").send_keys(Keys.CONTROL, Keys.ENTER)

    def choose(self, css: str, value: str) -> None:
        Select(self.find(css)).select_by_value(value)

    def upload(self, file: Path) -> None:
        self.find("#upload").send_keys(str(file))

    def problems(self) -> list[str]:
        """What the browser complained about: scripts that failed, requests that policy blocked."""
        said = self.driver.get_log("browser")
        return [entry["message"] for entry in said if entry["source"] != "network"]

    def size(self, width: int, height: int, dark: bool = False) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})

    def picture(self, name: str) -> None:
        wanted = os.environ.get("GRETA_SCREENSHOTS")
        if wanted:
            time.sleep(0.5)
            Path(wanted).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(wanted) / f"{name}.png"))


@pytest.fixture(scope="module")
def page(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    page = Page(address, tmp_path_factory.mktemp("profile"))
    yield page
    page.driver.quit()


@pytest.fixture(autouse=True)
def quiet(page: Page) -> Iterator[None]:
    """No test leaves an error on the browser's console behind."""
    page.size(1280, 1000)
    yield
    assert page.problems() == []


def test_the_papers_stream_shows_43_trends_and_those_through_a_vertex(page: Page) -> None:
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    assert "one or more rounds" in page.text("#words")
    assert page.all("[aria-label='Template of the pattern'] svg")
    vertices = page.wait(lambda: page.all("[data-vertex]"))
    assert len(vertices) == 7
    page.driver.execute_script("arguments[0].focus()", vertices[3])
    page.wait(lambda: "24 trends of 43 pass through it" in page.text(".through"))
    page.size(1280, 1180)
    page.picture("studio")


def test_a_query_is_written_and_its_error_shown_under_the_text_with_carets(page: Page) -> None:
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.write("RETURN COUNT(*)\nPATERN SEQ(A+, B)+")
    page.wait(lambda: "expected" in page.text("#query-problem"))
    assert page.find("#query-problem").get_attribute("aria-live") == "polite"
    carets = page.find(".carets").get_property("textContent")
    assert carets == "  PATERN SEQ(A+, B)+\n  ^^^^^^"
    assert "did you mean PATTERN?" in page.text("#query-problem")
    assert page.text(".cm-lintRange-error") == "PATERN"
    page.size(1280, 720)
    page.picture("studio-error")
    page.write("RETURN COUNT(*)\nPATTERN SEQ(A+, B)")
    page.wait(lambda: page.text("#query-problem") == "")
    page.run()
    page.wait(lambda: page.text("#rows tbody td") == "23")


def test_q1_written_by_hand_runs_on_stock_trades_and_is_charted_per_sector(page: Page) -> None:
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.choose("#sample", "stock")
    page.wait(lambda: page.all(".uplot"))
    page.write(paper.Q1)
    page.wait(lambda: "10 minutes, a new one every 10 seconds" in page.text("#words"))
    page.run()
    expected = len(greta.aggregate(samples.events("stock"), paper.Q1))
    page.wait(lambda: page.text("#summary").startswith(f"{expected:,} rows"))
    legend = page.wait(lambda: page.text(".u-legend"))
    assert all(sector in legend for sector in ("energy", "finance", "health", "technology"))
    page.find("nav[aria-label='Pages of the table'] button:last-of-type").click()
    page.wait(lambda: "13–24 of" in page.text("nav[aria-label='Pages of the table']"))
    page.size(1280, 1000, dark=True)
    page.picture("studio-dark")


def test_the_page_fits_a_phone(page: Page) -> None:
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.size(390, 844)
    page.choose("#sample", "stock")
    page.wait(lambda: page.all(".uplot"))
    page.wait(lambda: page.driver.execute_script("return document.documentElement.scrollWidth") <= 390)
    page.size(390, 1500)
    page.picture("studio-phone")


def test_everything_is_named_for_a_screen_reader(page: Page) -> None:
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.wait(lambda: page.all("[data-vertex]"))
    tree = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    wanted = {"button", "combobox", "textbox", "checkbox", "link", "PopUpButton", "table", "group", "image"}
    for node in tree:
        if not node["ignored"] and node["role"]["value"] in wanted:
            assert node.get("name", {}).get("value"), node


def test_the_keyboard_reaches_data_editor_and_run_in_this_order(page: Page) -> None:
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    order = []
    for _ in range(14):
        webdriver.ActionChains(page.driver).send_keys(Keys.TAB).perform()
        active = page.driver.switch_to.active_element
        order.append(active.get_attribute("id") or active.get_attribute("class"))
    wanted = ["sample", "sample-query", "upload", "cm-content", "run", "exact"]
    found = [next(i for i, name in enumerate(order) if want in name.split()) for want in wanted]
    assert found == sorted(found)


def test_an_uploaded_file_is_mapped_and_queried(page: Page, tmp_path: Path) -> None:
    rows = [f"{1_700_000_000 + i},{20 - i},c" for i in range(10)]
    (tmp_path / "trades.csv").write_text("\n".join(["seconds,price,company", *rows]))
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.upload(tmp_path / "trades.csv")
    page.wait(lambda: page.all("#map-time"))
    assert Select(page.find("#map-time")).first_selected_option.text == "seconds"
    assert page.find("#map-unit").get_attribute("value") == "s"
    constant = page.find("#map-constant")
    constant.clear()
    constant.send_keys("Trade")
    page.write("RETURN company, COUNT(*)\nPATTERN Trade T+\nWHERE T.pirce > NEXT(T).price\nGROUP-BY company")
    page.wait(lambda: "did you mean price?" in page.text("#query-problem"))
    page.write("RETURN company, COUNT(*)\nPATTERN Trade T+\nWHERE T.price > NEXT(T).price\nGROUP-BY company")
    page.wait(lambda: page.text("#query-problem") == "")
    page.run()
    page.wait(lambda: "1,023" in page.text("#rows"))


def test_a_malformed_file_is_a_message_and_the_page_goes_on(page: Page, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"\x00\xff" * 1000)
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.upload(tmp_path / "broken.parquet")
    page.wait(lambda: "broken.parquet: cannot be read" in page.text("#upload-problem"))
    page.choose("#sample", "prices")
    page.wait(lambda: page.text("#rows tbody td") == "275")


def test_a_file_of_100_megabytes_runs_with_progress(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "large.csv"
    count = 3_200_000
    with file.open("w") as out:
        out.write("time,type,price,company\n")
        out.writelines(f"{i // 10},Stock,{1_000_000 + i * 7919 % 9973},company-{i % 97:03}\n" for i in range(count))
    assert file.stat().st_size > 100_000_000
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.upload(file)
    page.wait(lambda: "large.csv, 1" in page.text("fieldset legend"))
    page.write(
        "RETURN COUNT(*), MIN(S.price)\nPATTERN Stock S+\nWHERE [company] AND S.price > NEXT(S).price\n"
        "WITHIN 1 minute SLIDE 30 seconds"
    )
    page.wait(lambda: "For each window of 1 minute" in page.text("#words"))
    page.run()
    seen = page.wait(lambda: page.text(".progress"))
    assert "Cancel" in seen
    page.wait(lambda: "3,200,000 events" in page.text("#summary"))


def test_a_file_over_the_limit_is_refused_with_the_limit(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "huge.csv"
    with file.open("wb") as out:
        out.truncate(201_000_000)
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.upload(file)
    page.wait(lambda: "up to 200 MB can be uploaded" in page.text("#upload-problem"))


def test_a_long_run_is_cancelled_and_the_next_one_runs(page: Page, tmp_path: Path) -> None:
    rows = "".join(f"{i},A,{i * 7919 % 10_007}\n" for i in range(400_000))
    (tmp_path / "long.csv").write_text("time,type,x\n" + rows)
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.upload(tmp_path / "long.csv")
    page.wait(lambda: page.all("#map-time"))
    page.write("RETURN COUNT(*)\nPATTERN A+\nWHERE A.x * NEXT(A).x % 7 > 2")
    page.wait(lambda: "% 7" in page.text("#words"))
    page.run()
    page.wait(lambda: "computing" in page.text(".progress"))
    page.find("#cancel").click()
    page.wait(lambda: "cancelled" in page.text("#run-problem"))
    page.choose("#sample", "paper")
    page.wait(lambda: page.text("#rows tbody td") == "43")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("RETURN COUNT(*) PATTERN (((A{99}){99}){99}){99}", "hint"),
        ("RETURN COUNT(*) PATTERN " + "(" * 300 + "A" + ")" * 300, "nested"),
        ('RETURN COUNT(*) AS "<img src=x onerror=alert(1)>" PATTERN "<script>alert(1)</script>"+', ""),
    ],
)
def test_a_hostile_query_is_answered_on_the_page_and_runs_no_script(page: Page, query: str, said: str) -> None:
    page.open()
    page.wait(lambda: page.text("#rows tbody td") == "43")
    page.write(query)
    if said:
        page.wait(lambda: said in page.text("#query-problem").lower())
    else:
        page.wait(lambda: "<script>alert(1)</script> events" in page.text("#words"))
        page.run()
        page.wait(lambda: "No event has the type <script>" in page.text(".warning"))
    page.choose("#sample", "prices")
    page.wait(lambda: page.text("#rows tbody td") == "275")


def test_a_running_stream_is_followed_live(page: Page, directory: Path) -> None:
    stop = threading.Event()
    writer = threading.Thread(target=_write_stream, args=(directory, stop))
    page.open("#follow")
    page.wait(lambda: "No rows yet" in page.text("main"))
    writer.start()
    try:
        page.wait(lambda: page.all("#latest"))
        first = page.text("#live-rows")
        page.wait(lambda: page.text("#live-rows") != first)
        page.wait(lambda: int(page.text("#live-rows").split()[0]) >= 60)
        tiles = page.text(".tiles")
        assert "Late events" in tiles
        assert "Lag" in tiles
        legend = page.text(".u-legend")
        assert "energy" in legend
        assert "finance" in legend
        page.size(1280, 900)
        # A picture for readers needs no directory of this machine.
        page.driver.execute_script("document.querySelector('#followed option').textContent = 'out/trends'")
        page.picture("studio-follow")
    finally:
        stop.set()
        writer.join()


def _write_stream(directory: Path, stop: threading.Event) -> None:
    """What a streaming query leaves: a file and a line of status per trigger."""
    start = datetime(2024, 1, 2, 9, 30, tzinfo=UTC)
    (directory / "_greta").mkdir()
    batch = 0
    while not stop.wait(0.2):
        begins = [start + timedelta(seconds=10 * batch)] * 2
        counts = [float(round(1e3 * 1.5 ** (batch % 17))), float(round(2e4 * 0.8 ** (batch % 11)))]
        rows = pa.table(
            {
                "window_start": begins,
                "window_end": [moment + timedelta(minutes=10) for moment in begins],
                "sector": ["energy", "finance"],
                "count": counts,
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
        with (directory / "_greta" / "progress.jsonl").open("a") as out:
            out.write(json.dumps(status) + "\n")
        batch += 1
