"""The cheat sheet of the guide has the tables of the studio's, word for word.

With ``GRETA_DOCS_UPDATE=1`` the page is rewritten with the tables that the studio has now.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from greta.studio.cheatsheet import listing

PAGE = Path(__file__).parents[2] / "docs" / "cheat-sheet.md"
_TABLES = re.compile(r"(?<=<!-- tables: begin -->\n).*?(?=<!-- tables: end -->)", re.DOTALL)


def tables() -> str:
    """The sections of the studio's cheat sheet in Markdown."""
    parts = []
    for section in listing():
        rows = "\n".join(f"| {code(row['text'])} | {row['meaning']} |" for row in section["rows"])
        parts.append(f"\n## {section['title']}\n\n| write | for |\n|---|---|\n{rows}\n")
    return "".join(parts) + "\n"


def code(text: str) -> str:
    """Alternatives, which wide gaps separate, as code of their own."""
    return " ".join(f"`{part}`" for part in re.split(r"\s{2,}", text))


def test_the_cheat_sheet_has_the_tables_of_the_studio() -> None:
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("GRETA_DOCS_UPDATE") == "1":
        PAGE.write_text(_TABLES.sub(lambda _: tables(), text), encoding="utf-8")
        return
    shown = _TABLES.search(text)
    assert shown is not None
    assert shown[0] == tables()


def test_alternatives_are_code_of_their_own() -> None:
    assert code("A*   A?") == "`A*` `A?`"
