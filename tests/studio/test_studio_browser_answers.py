"""Answers in a real browser: charts, rows and graphs that lead to each other, and files of them."""

import math
import time
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow.parquet
import pytest

import greta
from greta.studio import samples
from support.browser import CHROMIUM, DRIVER, MISSING, Page

STOCK = samples.SAMPLES["stock"].questions[0].query
TOGGLE_LOG = "document.querySelector('#aggregate-log').click()"
SVG = "{http://www.w3.org/2000/svg}"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING),
]


def stock(page: Page) -> list[dict[str, Any]]:
    """The first question about stock, asked; its rows as the engine gives them."""
    page.ask("stock", STOCK)
    page.wait(lambda: page.all("#result .uplot"))
    page.wait(lambda: page.all("#rows tbody td"))
    return greta.aggregate(samples.events("stock"), STOCK).to_pylist()


def click_point(page: Page, line: int) -> None:
    """Click where the chart of the result draws the largest value of a line."""
    script = """
    const over = document.querySelector("#result .u-over");
    over.scrollIntoView({ block: "center" });
    const box = over.getBoundingClientRect();
    const chart = arguments[0], [from, to] = [chart.times[0], chart.times.at(-1)];
    const values = chart.lines[arguments[1]].values, at = values.indexOf(Math.max(...values.map((v) => v ?? 0)));
    const all = chart.lines.flatMap((each) => each.values).filter((v) => v !== null).map(Math.log10);
    const [low, high] = [Math.floor(Math.min(...all)), Math.ceil(Math.max(...all))];
    const x = box.left + ((chart.times[at] - from) / (to - from)) * box.width;
    const y = box.top + ((high - Math.log10(values[at])) / (high - low)) * box.height;
    for (const kind of ["mousemove", "mousedown", "mouseup", "click"])
      over.dispatchEvent(new MouseEvent(kind, { clientX: x, clientY: y, bubbles: true, button: 0, view: window }));
    """
    chart = page.driver.execute_async_script(
        "const done = arguments[0];"
        "const rows = document.querySelector('a[download=\"rows.csv\"]').getAttribute('href');"
        "const series = rows.replace('rows.csv', 'series?column=count');"
        "fetch(series).then((answer) => answer.json()).then(done)"
    )
    page.driver.execute_script(script, chart, line)


def test_a_point_of_the_chart_leads_to_its_row_and_its_graph_with_prices_as_heights(page: Page) -> None:
    rows = stock(page)
    click_point(page, 1)
    chosen = page.wait(lambda: page.find("#rows tr.chosen"))
    row = rows[int(chosen.get_attribute("data-row"))]
    line = page.all("#result .u-legend th")[2].text
    assert row["sector"] in line
    assert row["count"] == max(each["count"] for each in rows if each["sector"] == row["sector"])
    assert f"{row['count']:,.0f}" in chosen.text
    number = int(chosen.get_attribute("data-row")) + 1
    page.wait(lambda: f"Trends of row {number}" in page.text("#events") and page.all("#trends [role=option]"))
    page.wait(lambda: page.all("[data-vertex]"))
    assert page.chosen("#height") == "price"
    prices = samples.events("stock").column("price").to_pylist()
    shown = [text.text for text in page.all("[data-vertex] text:first-of-type")]
    assert shown
    assert all(any(math.isclose(float(text), price, rel_tol=1e-4) for price in prices) for text in shown)
    # The events beside show the row's group alone, with its window shaded.
    assert page.chosen("#line") == "of the chosen row"
    assert row["sector"] in str(page.find("#events .chart").get_attribute("aria-label"))
    assert "shaded stretch" in page.text("#events")
    page.driver.execute_script("document.querySelector('#graph').scrollIntoView({block: 'end'})")
    page.picture("studio-graph")


def column(page: Page, number: int) -> list[str]:
    return [cell.text for cell in page.all(f"#rows tbody td:nth-child({number})")]


def test_rows_are_sorted_and_filtered(page: Page) -> None:
    rows = stock(page)
    page.click("#rows th:nth-child(4) button")
    page.wait(lambda: page.find("#rows th:nth-child(4)").get_attribute("aria-sort") == "ascending")
    page.click("#rows th:nth-child(4) button")
    counts = sorted((row["count"] for row in rows), reverse=True)
    page.wait(lambda: column(page, 4)[0] == f"{counts[0]:,.0f}")
    page.wait(lambda: column(page, 4) == [f"{count:,.0f}" for count in counts[:12]])
    page.fill("#filter", "sector = energy, count > 100")
    fitting = [row for row in rows if row["sector"] == "energy" and row["count"] > 100]
    page.wait(lambda: f"of {len(fitting)} ({len(rows)} in all)" in page.text("#shown-rows"))
    assert set(column(page, 3)) == {"energy"}
    page.fill("#filter", "prise > 3")
    page.wait(lambda: "no column prise" in page.text("#rows-problem"))
    page.fill("#filter", "nowhere at all")
    page.wait(lambda: "No row of 0" in page.text("#shown-rows"))


def zoom(page: Page) -> None:
    """Drag over the chart; and again, as anyone would, where it was drawn anew under the pointer."""
    for _ in range(5):
        page.drag("#result .u-over", 0.3, 0.6)
        until = time.monotonic() + 5
        while time.monotonic() < until:
            if page.all(".zoomed"):
                return
            time.sleep(0.1)


def test_the_table_follows_the_zoom_and_there_is_a_way_back(page: Page) -> None:
    rows = stock(page)
    zoom(page)
    page.wait(lambda: "Zoomed to 2024-01-02" in page.text(".zoomed"))
    page.wait(lambda: f"({len(rows)} in all)" in page.text("#shown-rows"))
    said = page.text(".zoomed").partition("Zoomed to")[2].partition("Show")[0]
    since, until = (part.strip()[-8:] for part in said.split("–"))
    begins = [text[-8:] for text in column(page, 1)]
    assert all(since <= begin <= until for begin in begins)
    page.click("#aggregate-whole")
    page.wait(lambda: page.all(".zoomed") == [])
    page.wait(lambda: page.text("#shown-rows").endswith(f"of {len(rows)}"))


def drawn_texts(page: Page, act: str, enough: Callable[[set[str]], bool]) -> set[str]:
    """The texts that charts draw after a script acted, once they are enough."""
    script = """
    const texts = (window.drawnTexts = []), prototype = CanvasRenderingContext2D.prototype;
    window.drawText ??= prototype.fillText;
    prototype.fillText = function (text, ...rest) {
      texts.push(text);
      return window.drawText.call(this, text, ...rest);
    };
    """
    page.driver.execute_script(script + act)
    texts = lambda: set(page.driver.execute_script("return window.drawnTexts"))  # noqa: E731
    page.wait(lambda: enough(texts()))
    return texts()


def test_the_axis_is_labelled_at_every_magnitude(page: Page) -> None:
    page.start()
    labels = page.module(
        "scale.js",
        """
        const found = [];
        for (let power = -300; power <= 300; power += 4) {
          const low = 10 ** power, high = 7.3 * 10 ** power;
          for (const [a, b, log] of [[low, high, false], [0, high, false], [high, high, false],
              [high * 0.9999, high, false],
              [Math.log10(low), Math.log10(low) + 3.4, true], [0, Math.max(2, power), true]]) {
            const [from, to] = m.range(a, b, log), at = m.ticks(from, to, log, 6), texts = m.labels(at, log);
            found.push([from <= a && b <= to, at.every((tick) => tick >= from && tick <= to), texts]);
          }
        }
        return found;
        """,
    )
    assert len(labels) > 800
    for covers, inside, texts in labels:
        assert covers, texts
        assert inside, texts
        assert 2 <= len(set(texts)) == len(texts) <= 14, texts
        assert all(len(text) <= 14 for text in texts), texts


def test_counts_up_to_1e300_are_drawn_with_labels(page: Page, tmp_path: Any) -> None:
    rows = "".join(f"{i},A\n" for i in range(1_000))
    (tmp_path / "many.csv").write_text("time,type\n" + rows)
    page.start()
    page.upload(tmp_path / "many.csv")
    page.wait(lambda: page.all("#map-time"))
    page.write("RETURN COUNT(*) AS trends\nPATTERN A+\nWITHIN 1000 seconds SLIDE 20 seconds")
    page.wait(lambda: page.text("#query-problem") == "")
    page.run()
    page.wait(lambda: page.all("#result .uplot"))
    linear = lambda texts: {text for text in texts if "e300" in text or "e301" in text}  # noqa: E731
    drawn_texts(page, TOGGLE_LOG, lambda texts: len(linear(texts)) >= 3)
    powers = lambda texts: {text for text in texts if text.startswith("1e")}  # noqa: E731
    drawn_texts(page, TOGGLE_LOG, lambda texts: len(powers(texts)) >= 4 and "1e300" in texts)


def test_a_log_scale_is_offered_only_where_it_fits(page: Page) -> None:
    page.ask("stock", STOCK.replace("COUNT(*)", "COUNT(*), MIN(S.price) AS low"))
    page.wait(lambda: page.all("#result .uplot"))
    assert page.find("#aggregate-log").is_selected()
    drawn_texts(page, TOGGLE_LOG, lambda texts: "1e5" in texts or "100,000" in texts)
    drawn_texts(page, TOGGLE_LOG, lambda texts: {"1", "10", "100", "1,000", "1e4"} <= texts)
    script = "const select = document.querySelector('#aggregate'); select.value = 'low';"
    drawn_texts(page, script + "select.dispatchEvent(new Event('change'))", {"60", "80", "100", "120"}.issubset)
    page.wait(lambda: not page.find("#aggregate-log").is_enabled())
    assert not page.find("#aggregate-log").is_selected()


def test_a_chart_is_saved_as_svg_and_png_and_gaps_stay_gaps(page: Page) -> None:
    # Reports of jobs with a pause between: no window of 30 seconds there has a row.
    query = "RETURN COUNT(*) AS n\nPATTERN Report R+\nWHERE R.job = 'job-01' OR R.job = 'job-20'\nWITHIN 30 seconds"
    page.ask("jobs", query)
    page.wait(lambda: page.all("#result .uplot"))
    page.click("#aggregate-svg")
    drawing = ET.parse(page.downloaded("n.svg")).getroot()
    lines = drawing.findall(f"{SVG}polyline")
    assert len(lines) == 2
    assert "n" in [text.text for text in drawing.findall(f"{SVG}text")]
    page.click("#aggregate-png")
    assert page.downloaded("n.png").read_bytes().startswith(b"\x89PNG")


def test_rows_are_saved_as_csv_and_parquet(page: Page) -> None:
    rows = stock(page)
    page.click("a[download='rows.csv']")
    assert len(page.downloaded("rows.csv").read_text().splitlines()) == len(rows) + 1
    page.click("a[download='rows.parquet']")
    assert pyarrow.parquet.read_table(page.downloaded("rows.parquet")).num_rows == len(rows)


def test_another_attribute_and_a_single_line_of_the_events_can_be_drawn(page: Page) -> None:
    stock(page)
    label = lambda: str(page.find("#events .chart").get_attribute("aria-label"))  # noqa: E731
    page.wait(lambda: "C01 · energy, C02 · finance" in label())
    page.choose("#line", "C02 · finance")
    page.wait(lambda: label().endswith(": C02 · finance"))
    page.choose("#attribute", "volume")
    page.wait(lambda: label().startswith("volume over time"))


def test_a_name_keeps_its_colour_whatever_is_drawn_beside_it(page: Page) -> None:
    page.start()
    first, second, third = page.module(
        "palette.js",
        """
        const palette = new m.Palette();
        const many = [...Array(8).keys()].map((i) => `other ${i}`);
        return [palette.colours(["a", "b", "c"], false), palette.colours(["c", "x", "a"], false),
          palette.colours([...many.slice(0, 5), "c"], false)];
        """,
    )
    assert len(set(first)) == 3
    assert (second[2], second[0]) == (first[0], first[2])
    assert third[5] == first[2]
    assert len(set(third)) == 6
