"""The Python reference says what it shows: every parameter of a function is documented, and queries have examples."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
SHOWN = re.findall(r"^::: (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
QUERIES = [name for name in SHOWN if name.count(".") == 1]


def found(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def section(docstring: str, title: str) -> str:
    """The indented lines under a title of a docstring; nothing where it has no such title."""
    part = re.search(rf"^{title}:\n((?:    .*\n|\n)*)", inspect.cleandoc(docstring) + "\n", re.MULTILINE)
    return part[1] if part else ""


def documented(docstring: str) -> list[str]:
    return re.findall(r"^    \*{0,2}(\w+): ", section(docstring, "Args"), re.MULTILINE)


@pytest.mark.parametrize("name", [name for name in SHOWN if inspect.isfunction(found(name))])
def test_every_parameter_of_the_reference_is_documented(name: str) -> None:
    function = found(name)
    assert inspect.isfunction(function)
    assert documented(function.__doc__ or "") == list(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", QUERIES)
def test_functions_for_queries_have_examples(name: str) -> None:
    assert ">>> " in section(found(name).__doc__ or "", "Examples")


def test_a_section_ends_where_the_next_begins() -> None:
    text = "Say.\n\nArgs:\n    one: First.\n        More.\n    **two: Second.\n\nReturns:\n    three: A thing."
    assert documented(text) == ["one", "two"]
    assert section(text, "Examples") == ""


def test_the_reference_shows_functions_for_queries() -> None:
    assert {"greta.aggregate", "greta.trends", "greta.stream", "greta.explain"} <= set(QUERIES)
