"""Every slip that the parser explains, against what it must say: golden/NAME.txt holds query and error."""

import pickle
from pathlib import Path

import pytest

from greta.errors import QuerySyntaxError
from greta.lang.parser import parse

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))
QUERY = "RETURN COUNT(*) PATTERN Stock S+ "


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_the_error_says_where_what_and_how_to_mend_it(file: Path) -> None:
    text, expected = file.read_text("utf-8").split("\n----\n")
    with pytest.raises(QuerySyntaxError) as caught:
        parse(text)
    assert str(caught.value) == expected.rstrip("\n")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("sign", "hint"),
    [
        ("≤", "write <="), ("≥", "write >="), ("≠", "write !="), ("∧", "write AND"), ("∨", "write OR"),
        ("=<", "write <="), ("=>", "write >="), ("&", "write AND"), ("|", "write OR"), ("−", "write -"),
        ("×", "write *"), ("÷", "write /"), ("’", "straight single quotes"),
    ],
)  # fmt: skip
def test_a_foreign_sign_is_answered_with_the_sign_of_the_language(sign: str, hint: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(f"{QUERY}WHERE S.price {sign} 3")
    assert hint in str(caught.value.hint)


def test_an_error_names_the_source_the_line_and_the_column() -> None:
    with pytest.raises(QuerySyntaxError, match=r"q3\.greta:3: ") as caught:
        parse("RETURN COUNT(*)\nPATTERN A\nWEHRE A.x > 3", source="q3.greta")
    assert (caught.value.line, caught.value.column) == (3, 1)


def test_an_error_survives_pickling() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse("RETURN COUNT(*) PATERN A")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_no_error_speaks_of_the_grammar_s_terminals() -> None:
    for file in GOLDEN:
        shown = file.read_text("utf-8").split("\n----\n")[1]
        for terminal in (
            "LPAR",
            "RPAR",
            "COMMA",
            "LBRACE",
            "QMARK",
            "$END",
            "MIN_LENGTH",
            "GROUP_BY",
            "FUNCTION",
            "CALL",
        ):
            assert terminal not in shown, file.name
