"""Trends in a real browser: drawn on the price, moved through by keys and pointer, of the row that was chosen."""

from pathlib import Path

import pytest

import greta
from greta.studio import samples
from support.axe import violations
from support.browser import CHROMIUM, DRIVER, MISSING, Page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING),
]


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Let the kernels of trends be compiled here: the page waits for them, its tests do not."""
    events = [{"type": "A", "time": time, "x": float(time)} for time in range(4)]
    for pick in ("sample", "longest"):
        greta.trends(events, "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x", n=2, pick=pick)


DOWN, END, HOME = "\ue015", "\ue010", "\ue011"
"""Keys, as WebDriver names them."""


def strokes(page: Page) -> int:
    """Pixels of the events' chart in the colour of the trend that is pointed at."""
    script = """
    const canvas = document.querySelector("#events canvas");
    // A copy: the browser complains of canvases that are read again and again.
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] === 179 && data[i + 1] === 71 && data[i + 2] === 0) found++;
    return found;
    """
    return int(page.driver.execute_script(script))


def trends(page: Page) -> list[str]:
    return [each.text for each in page.wait(lambda: page.all("#trends [role=option]"))]


def active(page: Page) -> int:
    chosen = [each.get_attribute("aria-selected") for each in page.all("#trends [role=option]")]
    assert chosen.count("true") == 1
    return chosen.index("true")


def test_the_page_opens_with_trends_drawn_on_the_price(page: Page) -> None:
    page.open()
    assert len(trends(page)) == 5
    page.wait(lambda: strokes(page) > 100)
    assert "Trends of row" in page.text("#events")
    assert [option.text for option in page.all("#trends-pick option")] == [
        "a sample", "the longest", "the steepest falls", "the steepest rises",
    ]  # fmt: skip
    page.picture("studio-trends")


def test_arrow_keys_and_the_pointer_move_through_trends(page: Page) -> None:
    page.open()
    said = trends(page)
    page.driver.execute_script("document.querySelector('#trends').focus()")
    events = page.text("#trend-events")
    page.press(DOWN)
    page.wait(lambda: active(page) == 1)
    page.wait(lambda: page.text("#trend-events") != events or said[0] == said[1])
    page.press(END)
    page.wait(lambda: active(page) == 4)
    page.press(DOWN)
    assert active(page) == 4
    page.press(HOME)
    page.wait(lambda: active(page) == 0)
    page.hover("#trend-2")
    page.wait(lambda: active(page) == 2)
    page.click("#trend-3")
    page.wait(lambda: active(page) == 3)
    prices = [float(text.replace(",", "")) for text in page.text("#trend-events").split(" → ")]
    assert prices == sorted(prices, reverse=True)


def test_longest_and_steepest_trends_are_chosen_and_samples_drawn_again(page: Page) -> None:
    page.open()
    sample = trends(page)
    page.click("#trends-again")
    page.wait(lambda: trends(page) != sample)
    page.choose("#trends-pick", "longest")
    page.wait(lambda: not page.all("#trends-again"))
    lengths = [int(text.split()[0]) for text in trends(page)]
    assert lengths == sorted(lengths, reverse=True)
    page.choose("#trends-pick", "fall")
    page.wait(lambda: page.chosen("#trends-pick") == "the steepest falls" and "(-" in trends(page)[0])


def test_trends_are_drawn_on_any_number_of_any_file(page: Page, tmp_path: Path) -> None:
    heat = [31, 33, 32, 36, 35, 40, 38, 44]
    rows = [f"{1_700_000_000 + i},oven,{degrees},{100 - degrees}" for i, degrees in enumerate(heat)]
    (tmp_path / "ovens.csv").write_text("\n".join(["seconds,kind,degrees,reserve", *rows]))
    page.start()
    page.upload(tmp_path / "ovens.csv")
    page.wait(lambda: page.all("#map-time"))
    page.choose("#map-type", "kind")
    page.write("RETURN COUNT(*)\nPATTERN oven O+\nWHERE O.degrees < NEXT(O).degrees")
    page.wait(lambda: page.text("#query-problem") == "")
    page.run()
    page.wait(lambda: trends(page) and page.chosen("#attribute") == "degrees")
    page.wait(lambda: strokes(page) > 100)
    page.choose("#trends-pick", "longest")
    page.wait(lambda: page.text("#trend-events") == "31 → 33 → 36 → 40 → 44")
    page.choose("#attribute", "reserve")
    page.wait(lambda: "reserve over time" in str(page.find("#events .chart").get_attribute("aria-label")))
    page.wait(lambda: strokes(page) > 100)
    page.wait(lambda: page.text("#trend-events").startswith("69 → 67 → "))


def test_a_chosen_row_shows_its_trends_and_an_older_query_shows_none(page: Page) -> None:
    page.ask("stock", samples.SAMPLES["stock"].questions[0].query)
    trends(page)
    page.click("#rows tbody tr:nth-child(2) button")
    page.wait(lambda: "Trends of row 2" in page.text("#events"))
    page.driver.execute_script("document.querySelector('.cm-content').focus()")
    page.press("-")
    page.wait(lambda: page.all("#stale"))
    page.wait(lambda: not page.all("#trends"))


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_trends_fit_every_screen_and_axe_finds_nothing(page: Page, axe: str, width: int) -> None:
    page.size(width, 900)
    page.open()
    trends(page)
    assert page.width() <= width
    assert violations(page.driver, axe) == []
