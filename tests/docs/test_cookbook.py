"""Every recipe of the cookbook is a question with a query, what it prints, and a picture; the table leads to each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

TEXT = (Path(__file__).parents[2] / "docs" / "cookbook.md").read_text(encoding="utf-8")
START, *PARTS = re.split(r"^## (?=.+\n)", TEXT, flags=re.MULTILINE)
RECIPES = dict(part.split("\n", 1) for part in PARTS)


@pytest.mark.parametrize("question", RECIPES)
def test_a_recipe_has_a_query_an_answer_and_a_picture(question: str) -> None:
    recipe = RECIPES[question]
    drawn = re.search(r'"(cookbook-[a-z]+)', recipe)
    assert question.endswith("?")
    assert re.search(r"```python\n(?:(?!```).)*\bPATTERN ", recipe, re.DOTALL)
    assert "\n```text\n" in recipe
    assert drawn is not None
    assert f"](images/{drawn[1]}.svg)" in recipe


def test_the_table_of_questions_leads_to_every_recipe() -> None:
    linked = re.findall(r"\]\(#([^)]+)\)", START)
    assert sorted(linked) == sorted(slugify(question, "-") for question in RECIPES)
    assert len(linked) >= 12
