"""Report → text for a terminal, and → one self-contained web page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from greta.drawing.svg import DARK, LIGHT, Role, escape, text_width
from greta.plan.show.report import Facts, Section, Table

_INDENT = "  "

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
"""A name may hold what a terminal would obey."""


def _colours(palette: dict[Role, str]) -> str:
    return f".greta {{ {' '.join(f'--{role}: {colour};' for role, colour in palette.items())} }}"


STYLE = f"""
{_colours(LIGHT)}
@media (prefers-color-scheme: dark) {{ {_colours(DARK)} }}
.greta {{ color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif; padding: 1rem;
  border-radius: 8px; }}
.greta h2 {{ font-size: 1.05rem; margin: 1.4rem 0 .4rem; }}
.greta section section {{ border-left: 3px dashed var(--negative); margin-left: .4rem; padding-left: 1rem; }}
.greta pre, .greta td, .greta dd {{ font-family: ui-monospace, Menlo, Consolas, monospace; }}
.greta pre, .greta td, .greta dd, .greta th, .greta dt {{ font-size: .86rem; }}
.greta pre, .greta .wide {{ overflow-x: auto; }}
.greta table {{ border-collapse: collapse; margin: .5rem 0; color: inherit; }}
.greta th, .greta td {{ text-align: left; padding: .25rem .8rem .25rem 0; vertical-align: top;
  border-bottom: 1px solid var(--node); background: none; color: inherit; }}
.greta th, .greta dt {{ color: var(--muted); font-weight: 600; }}
.greta dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .4rem 0; }}
.greta dd {{ margin: 0; }}
.greta .words {{ border-left: 4px solid var(--accent); padding-left: .8rem; margin: 0 0 1rem; }}
.greta svg {{ display: block; max-width: none; }}
"""


def as_text(words: str, query: str, sections: Iterable[Section]) -> str:
    """The report with aligned columns; only the words are wrapped, tables are as wide as their content."""
    lines = [*textwrap.wrap(f"In words: {words}", 100, subsequent_indent=_INDENT), "", *query.splitlines()]
    for section in sections:
        lines += ["", *_text_section(section)]
    return "\n".join(_CONTROL.sub("\ufffd", line).rstrip() for line in lines)


def as_html(words: str, query: str, sections: Iterable[Section], picture: str) -> str:
    """A fragment with its own style, in which every name and constant is escaped; ``picture`` is an SVG."""
    body = "".join(_html_section(section) for section in sections)
    return (
        f'<div class="greta"><style>{STYLE}</style><p class="words">In words: {escape(words)}</p>'
        f'<pre>{escape(query)}</pre><div class="wide">{picture}</div>{body}</div>'
    )


def as_page(name: str, fragment: str) -> str:
    """A whole page that needs nothing else, light or dark as its reader prefers."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(name)}</title>"
        f"<style>body {{ margin: 0; background: {LIGHT['paper']}; }} @media (prefers-color-scheme: dark) "
        f"{{ body {{ background: {DARK['paper']}; }} }}</style></head><body>{fragment}</body></html>\n"
    )


def _text_section(section: Section) -> Iterator[str]:
    yield section.title
    for i, block in enumerate(section.blocks):
        if i > 0:
            yield ""
        match block:
            case Facts(rows=rows):
                yield from _aligned([(label, text) for label, text in rows])
            case Table(headers=headers, rows=rows):
                yield from _aligned([headers, *rows])
    for inner in section.sections:
        yield ""
        for line in _text_section(inner):
            yield _INDENT + line if line else ""


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Cells padded to the width of their column, as a terminal counts it."""
    widths = [max(_cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield _INDENT + _INDENT.join(
            cell + " " * (width - _cells(cell)) for cell, width in zip(row, widths, strict=True)
        )


def _cells(text: str) -> int:
    return round(text_width(text) / text_width("x"))


def _html_section(section: Section) -> str:
    blocks = "".join(_html_block(block) for block in section.blocks)
    inner = "".join(_html_section(each) for each in section.sections)
    return f"<section><h2>{escape(section.title)}</h2>{blocks}{inner}</section>"


def _html_block(block: Facts | Table) -> str:
    match block:
        case Facts(rows=rows):
            return f"<dl>{''.join(f'<dt>{escape(a)}</dt><dd>{escape(b)}</dd>' for a, b in rows)}</dl>"
        case Table(headers=headers, rows=rows):
            head = "".join(f'<th scope="col">{escape(header)}</th>' for header in headers)
            body = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>" for row in rows)
            return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
