"""Headings of the guide are shown as they are written: no extension of Markdown takes a part of one for its own."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
import yaml
from markdown import Markdown

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))

_FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)
_SHOWN = re.compile(r"<h[1-6][^>]*>(.*?)</h[1-6]>", re.DOTALL)
_MARKS = re.compile(r"\\(?=\W)|`|\*\*|\[(.*?)\]\([^)]*\)")


def extensions() -> tuple[list[str], dict[str, dict[str, object]]]:
    """Those that ``mkdocs.yml`` names, without the links that it puts behind headings."""
    configured = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["markdown_extensions"]
    names = [name if isinstance(name, str) else next(iter(name)) for name in configured]
    return names, {"toc": {"permalink": False}}


def written(text: str) -> list[str]:
    """The headings of a page, without the marks of Markdown."""
    found = _HEADING.findall(_FENCE.sub("", text))
    return [_MARKS.sub(lambda mark: mark[1] or "", heading).strip() for heading in found]


def shown(text: str) -> list[str]:
    """The headings that a reader sees."""
    names, options = extensions()
    page = Markdown(extensions=names, extension_configs=options).convert(text)
    return [html.unescape(re.sub(r"<[^>]+>", "", heading)).strip() for heading in _SHOWN.findall(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_headings_lose_nothing(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert shown(text) == written(text)


def test_a_heading_that_ends_in_braces_would_lose_them() -> None:
    assert shown("## Repeat {n,m}") != written("## Repeat {n,m}")
