"""The studio in a real browser, as a person meets it. ``GRETA_SCREENSHOTS`` names a directory for pictures."""

import pytest

import greta
from greta.datasets import paper
from greta.studio import samples
from support.browser import CHROMIUM, DRIVER, MISSING, Page

TAB = "\ue004"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING),
]


def test_the_papers_stream_shows_43_trends_and_those_through_a_vertex(page: Page) -> None:
    page.start()
    page.wait(lambda: "one or more rounds" in page.text("#words"))
    assert page.all("[aria-label='Template of the pattern'] svg")
    vertices = page.wait(lambda: page.all("[data-vertex]"))
    assert len(vertices) == 7
    page.driver.execute_script("arguments[0].focus()", vertices[3])
    page.wait(lambda: "24 trends of 43 pass through it" in page.text(".through"))
    page.size(1280, 1180)
    page.picture("studio")


def test_a_query_is_written_and_its_error_shown_under_the_text_with_carets(page: Page) -> None:
    page.start()
    page.write("RETURN COUNT(*)\nPATERN SEQ(A+, B)+")
    page.wait(lambda: "expected" in page.text("#query-problem"))
    assert page.find("#query-problem").get_attribute("aria-live") == "polite"
    assert page.content(".carets") == "  PATERN SEQ(A+, B)+\n  ^^^^^^"
    assert "did you mean PATTERN?" in page.text("#query-problem")
    assert page.text(".cm-lintRange-error") == "PATERN"
    page.size(1280, 720)
    page.picture("studio-error")
    page.write("RETURN COUNT(*)\nPATTERN SEQ(A+, B)")
    page.wait(lambda: page.text("#query-problem") == "")
    page.run()
    page.wait(lambda: page.text("#rows tbody td") == "23")


def test_q1_written_by_hand_runs_on_stock_trades_and_is_charted_per_sector(page: Page) -> None:
    page.start()
    page.choose("#sample", "stock")
    page.wait(lambda: page.all(".uplot"))
    page.write(paper.Q1)
    page.wait(lambda: "10 minutes, a new one every 10 seconds" in page.text("#words"))
    page.run()
    expected = len(greta.aggregate(samples.events("stock"), paper.Q1))
    page.wait(lambda: page.text("#summary").startswith(f"{expected:,} rows"))
    legend = page.wait(lambda: page.text(".u-legend"))
    assert all(sector in legend for sector in ("energy", "finance", "health", "technology"))
    page.click("nav[aria-label='Pages of the table'] button:last-of-type")
    page.wait(lambda: "13–24 of" in page.text("nav[aria-label='Pages of the table']"))
    page.size(1280, 1000, dark=True)
    page.picture("studio-dark")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_a_phone_and_a_laptop(page: Page, width: int) -> None:
    page.start()
    page.size(width, 844)
    page.choose("#sample", "stock")
    page.wait(lambda: page.all(".uplot"))
    page.click("details summary")
    page.wait(lambda: page.width() <= width)
    if width == 390:
        page.click("details summary")
        page.size(390, 1500)
        page.picture("studio-phone")
    page.open("#follow")
    page.wait(lambda: page.all("#directory"))
    assert page.width() <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_its_ground(page: Page, dark: bool) -> None:
    page.size(1280, 1000, dark=dark)
    page.start()
    page.click("details summary")
    page.write("RETURN COUNT(*)\nPATTERN A+ -- all of them\nWHERE A.x = 'y' AND A.z > 1 +")
    page.wait(lambda: page.text(".problem"))
    assert page.faint() == []
    page.open("#follow")
    page.wait(lambda: page.all(".tiles"))
    assert page.faint() == []


def test_results_and_problems_are_announced_and_seconds_are_not(page: Page) -> None:
    page.start()
    assert page.find("#announced").get_attribute("role") == "status"
    page.wait(lambda: page.content("#announced").startswith("1 row from 11 events"))
    page.write("RETURN COUNT(*)\nPATTERN X+")
    page.wait(lambda: page.text("#query-problem") == "")
    page.run()
    page.wait(lambda: page.content("#announced").startswith("0 rows from 11 events"))
    for problem in ("#query-problem", "#run-problem", "#upload-problem"):
        assert page.find(problem).get_attribute("aria-live") == "polite"
    assert page.all("[role=status] progress, [aria-live] progress") == []


def test_everything_is_named_for_a_screen_reader(page: Page) -> None:
    page.start()
    page.wait(lambda: page.all("[data-vertex]"))
    assert page.unnamed() == []
    page.open("#follow")
    page.wait(lambda: page.all(".tiles"))
    assert page.unnamed() == []


def test_the_keyboard_reaches_data_editor_and_run_in_this_order(page: Page) -> None:
    page.start()
    page.wait(lambda: page.all("[data-vertex]"))
    order = []
    for _ in range(14):
        active = page.press(TAB)
        outline = active.value_of_css_property("outline-style")
        if active.tag_name in ("button", "a", "select"):
            assert outline != "none", active.get_attribute("outerHTML")
        order.append(active.get_attribute("id") or active.get_attribute("class"))
    wanted = ["sample", "sample-query", "upload", "cm-content", "run", "exact"]
    found = [next(i for i, name in enumerate(order) if want in name.split()) for want in wanted]
    assert found == sorted(found)
