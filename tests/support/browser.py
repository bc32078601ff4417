"""A real headless Chromium, and what people do with a page in it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
MISSING = "there is no chromium with its chromedriver: on Debian, apt install chromium chromium-driver"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SECONDS = 180
"""Longest wait for anything; a first start that compiles the engine is the longest."""

_NAMED = {"button", "combobox", "textbox", "checkbox", "link", "PopUpButton", "table", "group", "image"}
_CONTRASTS = """
const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
const parse = (text) => ({ rgb: numbers(text).slice(0, 3), alpha: numbers(text)[3] ?? 1 });
const light = ({ rgb }) => rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (node) => {
  for (; node; node = node.parentElement) {
    const colour = parse(getComputedStyle(node).backgroundColor);
    if (colour.alpha > 0.99) return colour;
  }
  return parse("rgb(255, 255, 255)");
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || node.closest("svg, option, script, noscript, :disabled")) continue;
  if (!node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
  const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
  found.push([walker.currentNode.data.trim().slice(0, 40), (a + 0.05) / (b + 0.05)]);
}
return found;
"""


class Page:
    """A browser at the studio's address."""

    def __init__(self, address: str, profile: Path) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for flag in (*FLAGS, f"--user-data-dir={profile}", "--window-size=1280,1000"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.set_capability("unhandledPromptBehavior", "accept")
        options.add_experimental_option("prefs", {"download.default_directory": str(profile / "downloads")})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.downloads = profile / "downloads"
        # The token of the printed address becomes a cookie at the first visit.
        self.driver.get(address)
        self.address = address.partition("?")[0]

    def open(self, place: str = "") -> None:
        """Open a place of the page as if for the first time."""
        self.driver.execute_script("sessionStorage.clear(); localStorage.setItem('greta-studio-tour', '1')")
        self.driver.get("about:blank")
        self.driver.get(self.address + place)
        self.wait(lambda: self.find("h1"))

    def ask(self, sample: str, query: str) -> None:
        """Open the page with a query over a sample, by a link."""
        self.open("#share?" + urlencode({"query": query, "sample": sample}))

    def start(self) -> None:
        """Open the page and wait for its first result, over the paper's stream."""
        self.ask("paper", "RETURN COUNT(*)\nPATTERN SEQ(A+, B)+")
        self.wait(lambda: self.text("#rows tbody td") == "43")

    def reload(self) -> None:
        self.driver.refresh()
        self.wait(lambda: self.find("h1"))

    def module(self, name: str, script: str) -> Any:
        """What a script computes with one of the page's modules, as ``m``."""
        return self.driver.execute_async_script(
            f"const done = arguments[0]; import('/static/js/{name}').then((m) => done((() => {{ {script} }})()))"
        )

    def downloaded(self, name: str) -> Path:
        """A file that the page saved."""
        file = self.downloads / name
        self.wait(lambda: file.is_file() and file.stat().st_size > 0)
        return file

    def find(self, css: str) -> Any:
        return self.driver.find_element("css selector", css)

    def all(self, css: str) -> list[Any]:
        return self.driver.find_elements("css selector", css)

    def click(self, css: str) -> None:
        """Click an element that stands still: where a chart comes in above it, the click would hit something else."""
        self.done(lambda: self.still(css).click())

    def still(self, css: str) -> Any:
        """An element that has not moved for a moment."""
        script = (
            "const { x, y } = arguments[0].getBoundingClientRect(); return [x, y + scrollY, document.body.scrollHeight]"
        )
        element, before = self.find(css), None
        while before != (now := self.driver.execute_script(script, element)):
            before = now
            time.sleep(0.15)
        return element

    def hover(self, css: str) -> None:
        """Move the pointer over an element that stands still; from elsewhere, since only then it is entered."""
        from selenium.webdriver import ActionChains

        def enter() -> bool:
            self.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", self.find(css))
            element = self.still(css)
            chain = ActionChains(self.driver, duration=50)
            chain.w3c_actions.pointer_action.move_to_location(1, 1)
            chain.move_to_element(element).perform()
            return bool(self.driver.execute_script("return arguments[0].matches(':hover')", element))

        self.wait(enter)

    def text(self, css: str) -> str:
        found = self.all(css)
        return found[0].text if found else ""

    def content(self, css: str) -> str:
        """The text of an element that may be for screen readers alone."""
        return str(self.find(css).get_property("textContent"))

    def wait(self, holds: Callable[[], Any]) -> Any:
        """Until something is there; the page re-renders, so what is looked at may vanish or be half there meanwhile."""
        from selenium.common.exceptions import WebDriverException

        until = time.monotonic() + SECONDS
        while True:
            problem: Exception | None = None
            try:
                if value := holds():
                    return value
            except (WebDriverException, LookupError, ValueError, StopIteration, AssertionError) as error:
                problem = error
            if time.monotonic() > until:
                raise AssertionError(f"waited in vain; the page says:\n{self.text('body')}") from problem
            time.sleep(0.1)

    def done(self, act: Callable[[], Any]) -> None:
        """Do something to an element, again where the page was rendered anew under the pointer."""
        self.wait(lambda: (act(), True))

    def write(self, query: str) -> None:
        """Replace the query by typing."""
        lines = query.strip().splitlines()
        self.clear().send_keys("\n".join(lines))
        assert self.written() == lines

    def clear(self) -> Any:
        """An empty editor."""
        from selenium.webdriver.common.keys import Keys

        editor = self.find(".cm-content")
        self.driver.execute_script("arguments[0].focus()", editor)
        editor.send_keys(Keys.CONTROL, "a")
        editor.send_keys(Keys.DELETE)
        return editor

    def written(self) -> list[str]:
        """The lines in the editor."""
        return [str(line.get_property("textContent")) for line in self.all(".cm-line")]

    def type(self, text: str, pause: float) -> None:
        """Key by key, so many seconds apart, as a person types."""
        for key in text:
            self.press("\ue007" if key == "\n" else key)
            time.sleep(pause)

    def fill(self, css: str, *keys: str) -> None:
        """Replace the text of a field as people do: Selenium's own clear() is no input that the page hears of."""
        from selenium.webdriver.common.keys import Keys

        self.find(css).send_keys(Keys.CONTROL, "a")
        self.find(css).send_keys(*keys)

    def run(self) -> None:
        from selenium.webdriver.common.keys import Keys

        self.find(".cm-content").send_keys(Keys.CONTROL, Keys.ENTER)

    def press(self, key: str) -> Any:
        """A key on whatever has the focus; returns what has it then."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(key).perform()
        return self.driver.switch_to.active_element

    def choose(self, css: str, value: str) -> None:
        """Choose the option of a list that has this value."""
        options = lambda: (each for each in self.all(f"{css} option") if each.get_property("value") == value)  # noqa: E731
        self.done(lambda: next(options()).click())

    def chosen(self, css: str) -> str:
        from selenium.webdriver.support.ui import Select

        return str(Select(self.find(css)).first_selected_option.text)

    def upload(self, file: Path) -> None:
        self.find("#upload").send_keys(str(file))

    def problems(self) -> list[str]:
        """What the browser complained about: scripts that failed, requests that policy blocked."""
        said = self.driver.get_log("browser")
        return [entry["message"] for entry in said if entry["source"] != "network"]

    def unnamed(self) -> list[str]:
        """The roles of what a screen reader would announce without a name."""
        tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        spoken = [node for node in tree if not node["ignored"] and node["role"]["value"] in _NAMED]
        assert spoken
        return [node["role"]["value"] for node in spoken if not node.get("name", {}).get("value")]

    def faint(self) -> list[str]:
        """Texts with less contrast to their ground than WCAG's level AA asks for."""
        found = self.driver.execute_script(_CONTRASTS)
        assert len(found) > 10
        return [f"{text!r}: {contrast:.2f}" for text, contrast in found if contrast < 4.5]

    def drag(self, css: str, since: float, until: float) -> None:
        """Drag over an element, between two shares of its width."""
        from selenium.webdriver import ActionChains

        target = self.find(css)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
        width = target.size["width"]
        actions = ActionChains(self.driver, duration=50)
        actions.move_to_element_with_offset(target, int(width * (since - 0.5)), 0).click_and_hold()
        actions.move_to_element_with_offset(target, int(width * (until - 0.5)), 5).release().perform()

    def width(self) -> int:
        return int(self.driver.execute_script("return document.documentElement.scrollWidth"))

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
