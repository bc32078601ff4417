"""A real headless Chromium, and what people do with a page in it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.address = address

    def open(self, place: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(self.address + place)
        self.wait(lambda: self.find("h1"))

    def start(self) -> None:
        """Open the page and wait for its first result, over the paper's stream."""
        self.open()
        self.wait(lambda: self.text("#rows tbody td") == "43")

    def find(self, css: str) -> Any:
        return self.driver.find_element("css selector", css)

    def all(self, css: str) -> list[Any]:
        return self.driver.find_elements("css selector", css)

    def click(self, css: str) -> None:
        self.wait(lambda: self.all(css))[0].click()

    def text(self, css: str) -> str:
        found = self.all(css)
        return found[0].text if found else ""

    def content(self, css: str) -> str:
        """The text of an element that may be for screen readers alone."""
        return str(self.find(css).get_property("textContent"))

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
        lines = query.strip().splitlines()
        self.wait(lambda: self._type(lines) == lines)

    def _type(self, lines: list[str]) -> list[str]:
        """What the editor has after typing; on a busy machine a late list of completions can take an Enter."""
        from selenium.webdriver.common.keys import Keys

        editor = self.find(".cm-content")
        editor.click()
        editor.send_keys(Keys.CONTROL, "a")
        editor.send_keys(Keys.DELETE)
        for line in lines:
            # Escape closes the list of completions, which would take the Enter.
            editor.send_keys(line, Keys.ESCAPE, Keys.ENTER)
        typed = [str(line.get_property("textContent")) for line in self.all(".cm-line")]
        return typed[:-1]

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
        from selenium.webdriver.support.ui import Select

        Select(self.find(css)).select_by_value(value)

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
