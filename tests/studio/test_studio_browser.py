"""The studio in a real browser, as a person meets it. ``GRETA_SCREENSHOTS`` names a directory for pictures."""

import pytest

import greta
from greta.datasets import paper
from greta.studio import samples
from support.axe import violations
from support.browser import CHROMIUM, DRIVER, MISSING, Page

TAB = "\ue004"
ESCAPE = "\ue00c"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING),
]


def test_the_page_opens_on_stock_trades_with_the_price_beside_the_query(page: Page) -> None:
    page.open()
    page.wait(lambda: page.all("#rows tbody td"))
    page.wait(lambda: page.all("#events .uplot"))
    assert "price over time per company and sector" in str(page.find("#events .chart").get_attribute("aria-label"))
    query, events = page.find("#query").rect, page.find("#events").rect
    assert query["x"] + query["width"] <= events["x"]
    assert abs(query["y"] - events["y"]) < 5
    page.size(1280, 1180)
    page.picture("studio")


def test_questions_are_cards_that_bring_data_and_query(page: Page) -> None:
    page.open()
    page.wait(lambda: page.all("#rows tbody td"))
    cards = [card.text for card in page.all(".question-card strong")]
    jobs = {"Which jobs never finished?", "Which jobs stalled?", "Which jobs rose and then failed?"}
    assert jobs | {"Which is the steepest fall?"} <= set(cards)
    page.all(".question-card")[cards.index("Which jobs stalled?")].click()
    page.wait(lambda: "job-03" in page.text("#rows"))
    assert page.chosen("#sample") == "Jobs on a cluster"
    assert page.all(".question-card[aria-pressed=true] strong")[0].text == "Which jobs stalled?"
    page.click("#more-questions")
    every = sum(len(sample.questions) for sample in samples.SAMPLES.values())
    page.wait(lambda: len(page.all(".question-card")) == every)


def test_columns_and_first_rows_of_a_sample_are_shown(page: Page) -> None:
    page.open()
    page.wait(lambda: "8 columns, first of 600 events" in page.text("#outline"))
    header = [cell.text.split("\n") for cell in page.all("#outline th")]
    assert ["type", "text"] in header
    assert len(page.all("#outline tbody tr")) == 3


def test_the_papers_stream_shows_43_trends_and_those_through_a_vertex(page: Page) -> None:
    page.start()
    page.wait(lambda: "one or more rounds" in page.text("#words"))
    assert page.all("[aria-label='Template of the pattern'] svg")
    vertices = page.wait(lambda: page.all("[data-vertex]"))
    assert len(vertices) == 7
    page.driver.execute_script("arguments[0].focus()", vertices[3])
    page.wait(lambda: "24 trends of 43 pass through it" in page.text(".through"))


def test_a_query_is_written_and_its_error_shown_under_the_text_with_carets(page: Page) -> None:
    page.start()
    page.write("RETURN COUNT(*)\nPATERN SEQ(A+, B)+")
    page.wait(lambda: "expected" in page.text("#query-problem"))
    assert page.find("#query-problem").get_attribute("aria-live") == "polite"
    assert page.content(".carets") == "  PATERN SEQ(A+, B)+\n  ^^^^^^"
    assert "did you mean PATTERN?" in page.text("#query-problem")
    assert page.text(".cm-lintRange-error") == "PATERN"
    page.size(1280, 800)
    page.picture("studio-error")
    page.write("RETURN COUNT(*)\nPATTERN SEQ(A+, B)")
    page.wait(lambda: page.text("#query-problem") == "")
    page.run()
    page.wait(lambda: page.text("#rows tbody td") == "23")


def test_q1_runs_on_stock_trades_and_is_charted_per_sector(page: Page) -> None:
    page.ask("stock", paper.Q1)
    page.wait(lambda: "10 minutes, a new one every 10 seconds" in page.text("#words"))
    expected = len(greta.aggregate(samples.events("stock"), paper.Q1))
    page.wait(lambda: page.text("#summary").startswith(f"{expected:,} rows"))
    legend = page.wait(lambda: page.text("#result .u-legend"))
    assert all(sector in legend for sector in ("energy", "finance", "health", "technology"))
    page.click("nav[aria-label='Pages of the table'] button:last-of-type")
    page.wait(lambda: "13–24 of" in page.text("#shown-rows"))
    page.size(1280, 1000, dark=True)
    page.picture("studio-dark")


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_page_is_wider_than_the_screen(page: Page, width: int) -> None:
    page.size(width, 844)
    page.open()
    page.wait(lambda: page.all("#result .uplot"))
    page.click("#rows tbody button")
    page.wait(lambda: page.all("[data-vertex]"))
    page.driver.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.click("#copy-spark")
    page.wait(lambda: page.all(".copied"))
    page.wait(lambda: page.width() <= width)
    page.click("#open-sheet")
    page.wait(lambda: page.all("#cheat-sheet"))
    assert page.width() <= width
    assert page.find("#cheat-sheet").rect["width"] <= width
    page.click("#close-sheet")
    page.open("#follow")
    page.wait(lambda: page.all("#directory"))
    assert page.width() <= width


def test_on_a_phone_the_answer_comes_before_the_query(page: Page) -> None:
    page.size(390, 844)
    page.open()
    page.wait(lambda: page.all("#result .uplot") and page.all("#events .uplot"))
    assert page.find("#events").rect["y"] < page.find("#result").rect["y"] < page.find("#query").rect["y"]
    # In the order of the keyboard, too, and back on a wide screen.
    places = "return [...document.querySelectorAll('#result, #query')].map((each) => each.id)"
    assert page.driver.execute_script(places) == ["result", "query"]
    page.size(390, 1500)
    page.picture("studio-phone")
    page.size(1280, 1000)
    page.wait(lambda: page.driver.execute_script(places) == ["query", "result"])


def test_axe_finds_nothing_wrong(page: Page, axe: str) -> None:
    page.open()
    page.wait(lambda: page.all("#result .uplot"))
    page.click("#rows tbody button")
    page.wait(lambda: page.all("[data-vertex]"))
    page.click("#copy-python")
    page.wait(lambda: page.all(".copied"))
    assert violations(page.driver, axe) == []
    page.size(1280, 1000, dark=True)
    page.write("RETURN COUNT(*)\nPATERN A+")
    page.wait(lambda: page.all(".problem"))
    page.driver.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert violations(page.driver, axe) == []
    page.click("#open-sheet")
    page.wait(lambda: page.all("#cheat-sheet"))
    assert violations(page.driver, axe) == []
    page.click("#close-sheet")
    page.click("#open-tour")
    page.wait(lambda: page.all(".tour"))
    assert violations(page.driver, axe) == []
    page.size(390, 844)
    page.open("#follow")
    page.wait(lambda: page.all("#state"))
    assert violations(page.driver, axe) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_its_ground(page: Page, dark: bool) -> None:
    page.size(1280, 1000, dark=dark)
    page.start()
    page.click("#plan-title")
    page.write("RETURN COUNT(*)\nPATTERN A+ -- all of them\nWHERE A.x = 'y' AND A.z > 1 +")
    page.press(ESCAPE)
    page.wait(lambda: page.text(".problem"))
    assert page.faint() == []
    page.open("#follow")
    page.wait(lambda: page.all("#state"))
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
    page.wait(lambda: page.all("#state"))
    assert page.unnamed() == []


def test_the_keyboard_reaches_questions_editor_run_and_data_in_this_order(page: Page) -> None:
    page.start()
    page.wait(lambda: page.all("[data-vertex]"))
    order = []
    for _ in range(26):
        active = page.press(TAB)
        outline = active.value_of_css_property("outline-style")
        if active.tag_name in ("button", "a", "select"):
            assert outline != "none", active.get_attribute("outerHTML")
        order.append(f"{active.get_attribute('id')} {active.get_attribute('class')}")
    wanted = ["open-tour", "question-card", "cm-content", "run", "exact", "copy-link", "sample", "upload"]
    found = [next(i for i, name in enumerate(order) if want in name.split()) for want in wanted]
    assert found == sorted(found)


def test_the_tour_leads_from_part_to_part_and_is_offered_once(page: Page) -> None:
    page.open()
    assert page.all("#invitation") == []
    page.driver.execute_script("localStorage.clear()")
    page.reload()
    page.wait(lambda: page.all("#result .uplot") and page.all("#events .uplot"))
    page.click("#invitation button")
    # The page marks and unmarks places after it has drawn itself, so each is waited for.
    titles = set()
    for place in ("questions", "query", "data", "events", "result", "copy"):
        page.wait(lambda place=place: [found.get_attribute("id") for found in page.all(".toured")] == [place])
        titles.add(page.text("#tour-title"))
        page.press("\ue007")
    assert len(titles) == 6
    page.wait(lambda: page.all(".tour, .toured") == [])
    page.reload()
    page.wait(lambda: page.all("#open-tour"))
    assert page.all("#invitation") == []


def test_the_cheat_sheet_shows_the_language_and_closes_with_escape(page: Page) -> None:
    page.start()
    page.click("#open-sheet")
    sheet = page.wait(lambda: page.text("#cheat-sheet"))
    assert "WITHIN 10 minutes SLIDE 30 seconds" in sheet
    assert "S.price > NEXT(S).price" in sheet
    page.press(ESCAPE)
    page.wait(lambda: page.all("#cheat-sheet") == [])
