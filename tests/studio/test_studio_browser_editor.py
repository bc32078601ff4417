"""Writing a query in a real browser: keys, completion, what is kept and what is taken elsewhere."""

import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from greta.studio import samples
from support.browser import CHROMIUM, DRIVER, MISSING, Page

TAB, ENTER, ESCAPE, DOWN = "\ue004", "\ue007", "\ue00c", "\ue015"
BACKSPACE = "\ue003"
LIST = ".cm-tooltip-autocomplete"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING),
]


@pytest.mark.parametrize("milliseconds", [30, 150, 250])
def test_what_is_typed_is_what_is_there_at_any_speed(page: Page, milliseconds: int) -> None:
    # Every line ends in a word that could be completed: Enter must not take it.
    text = "PATTERN Sto\nWHERE S.pri\nWI"
    page.open()
    page.wait(lambda: page.all("#events .uplot"))
    page.clear()
    page.type(text, milliseconds / 1000)
    assert page.written() == text.split("\n")


def offered(page: Page, text: str, wanted: str) -> dict[str, str]:
    """What the list offers after a text was typed, once this is among it, and what each is said to be."""
    script = (
        "const text = (li, part) => li.querySelector(`.cm-completion${part}`)?.textContent ?? '';"
        "return [...document.querySelectorAll(arguments[0])].map((li) => [text(li, 'Label'), text(li, 'Detail')])"
    )
    found: dict[str, str] = {}

    def there() -> bool:
        found.clear()
        found.update(page.driver.execute_script(script, f"{LIST} li"))
        return wanted in found

    page.clear()
    page.type(text, 0.03)
    page.wait(there)
    return found


def test_what_can_follow_is_offered_with_what_it_is(page: Page) -> None:
    page.open()
    page.wait(lambda: page.all("#events .uplot"))
    attributes = offered(page, "WHERE S.", "price")
    assert attributes["price"] == "float"
    assert attributes["company"] == "text"
    assert "WHERE" not in attributes
    assert offered(page, "PATTERN ", "Stock")["Stock"] == "event type, 600 events"
    assert offered(page, "WHERE [", "sector")["sector"] == "text"
    assert offered(page, "PATTERN SEQ(A, St", "Stock")["Stock"].startswith("event type")
    assert offered(page, "RE", "RETURN")["RETURN"] == "what a row shows"
    assert offered(page, "CO", "COUNT(")["COUNT("] == "number of trends, or of events in them"
    assert offered(page, "WITHIN 5 mi", "minutes")["minutes"] == ""


def test_enter_is_enter_tab_completes_and_enter_completes_only_after_an_arrow(page: Page) -> None:
    page.open()
    page.wait(lambda: page.all("#events .uplot"))
    offered(page, "WHERE S.pr", "price")
    page.press(ENTER)
    assert page.written() == ["WHERE S.pr", ""]
    offered(page, "WHERE S.pr", "price")
    page.press(TAB)
    assert page.written() == ["WHERE S.price"]
    offered(page, "WHERE S.pr", "price")
    page.press(DOWN)
    page.press(ENTER)
    assert page.written() == ["WHERE S.price"]
    # Whoever types on after an arrow has not chosen.
    offered(page, "WHERE S.p", "price")
    page.press(DOWN)
    page.type("r", 0.2)
    page.press(ENTER)
    assert page.written() == ["WHERE S.pr", ""]
    # Without a list, Tab leaves the editor, as people with a keyboard need.
    page.press(ESCAPE)
    assert "cm-content" not in str(page.press(TAB).get_attribute("class"))


def test_results_of_an_older_query_are_greyed_until_it_runs_again(page: Page) -> None:
    page.start()
    assert page.all("#result.stale") == []
    page.write("RETURN COUNT(*)\nPATTERN SEQ(A+, B)")
    page.wait(lambda: "older query" in page.text("#stale"))
    assert page.find("#result").value_of_css_property("border-top-style") == "dashed"
    assert page.find("#rows td").value_of_css_property("font-style") == "italic"
    page.run()
    page.wait(lambda: page.text("#rows tbody td") == "23")
    assert page.all("#result.stale") == []


def test_a_reload_keeps_query_data_and_mapping(page: Page, tmp_path: Path) -> None:
    rows = [f"{1_700_000_000_000 + 1000 * i},{20 - i},c" for i in range(6)]
    (tmp_path / "trades.csv").write_text("\n".join(["at,price,company", *rows]))
    page.start()
    page.upload(tmp_path / "trades.csv")
    page.wait(lambda: page.all("#map-time"))
    page.fill("#map-constant", "Trade")
    page.write("RETURN COUNT(*)\nPATTERN Trade T+\nWHERE T.price > NEXT(T).price")
    page.wait(lambda: page.text("#query-problem") == "")
    page.reload()
    page.wait(lambda: page.text("#rows tbody td") == "63")
    assert page.written() == ["RETURN COUNT(*)", "PATTERN Trade T+", "WHERE T.price > NEXT(T).price"]
    assert page.chosen("#map-time") == "at"
    assert page.find("#map-unit").get_attribute("value") == "ms"
    assert page.find("#map-constant").get_attribute("value") == "Trade"


def test_a_reload_after_the_studio_forgot_the_file_says_so(page: Page) -> None:
    page.start()
    column = {"name": "time", "kind": "integer"}
    lost = {"upload": "gone", "name": "old.csv", "size": 5, "columns": [column], "rows": [], "guess": {}}
    mapping = {"time": "time", "time_unit": "", "type": "", "event_type": "A"}
    state = {"query": "RETURN COUNT(*)\nPATTERN A+", "data": {"upload": lost, "mapping": mapping}, "exact": False}
    # The page keeps its own state when it is left: the old one is put in when it is gone.
    page.driver.get(page.address + "theme.css")
    page.driver.execute_script("sessionStorage.setItem('greta-studio', arguments[0])", json.dumps(state))
    page.driver.get(page.address)
    page.wait(lambda: "old.csv is not here any more" in page.text("#upload-problem"))
    assert page.written() == ["RETURN COUNT(*)", "PATTERN A+"]


def test_a_link_shares_query_and_sample(page: Page) -> None:
    page.start()
    page.click("#copy-link")
    link = page.wait(lambda: page.text(".copied"))
    assert link.startswith(page.address)
    assert "token" not in link
    shared = parse_qs(link.partition("#share?")[2])
    assert shared == {"query": ["RETURN COUNT(*)\nPATTERN SEQ(A+, B)+"], "sample": ["paper"]}
    page.open()
    page.wait(lambda: page.chosen("#sample") == "Stock trades")
    page.driver.get(link)
    page.wait(lambda: page.text("#rows tbody td") == "43")
    assert page.chosen("#sample") == "The paper's stream"


def test_the_query_is_copied_as_python_shell_and_spark(page: Page) -> None:
    page.open()
    page.wait(lambda: page.all("#rows tbody td"))
    first = samples.SAMPLES["stock"].questions[0].query.splitlines()[0]
    for kind, part in (("python", "greta.aggregate("), ("shell", "greta run"), ("spark", "greta.spark.aggregate(")):
        page.click(f"#copy-{kind}")
        page.wait(lambda part=part: part in page.text(".copied"))
        assert first in page.text(".copied")


def test_tab_in_an_empty_list_and_backspace_leave_the_text_alone(page: Page) -> None:
    page.start()
    page.clear()
    page.type("-- S.", 0.03)
    page.press(BACKSPACE)
    page.press(TAB)
    assert page.written() == ["-- S"]
    assert page.all(LIST) == []
