"""Errors name what users wrote, and a terminal shows it instead of obeying it."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import greta
from greta.errors import QueryError, Span, visible

RED, BACKWARDS, CLEAR = "\x1b[31m", "\u202e", "\x1b[2J\x1b[H"


def error_of(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        greta.analyze(text)
    return caught.value


@pytest.mark.parametrize("nasty", [RED, BACKWARDS, CLEAR, "\x00", "\x9b31m", "\r", "\u2028", "a\nb"])
def test_a_hostile_name_is_escaped_in_every_line_of_an_error(nasty: str) -> None:
    said = str(error_of(f'RETURN "{nasty}", COUNT(*) PATTERN A+'))
    assert said.replace("\n", "").isprintable()
    assert nasty not in said


def test_a_name_with_a_line_break_makes_no_new_line_of_its_own() -> None:
    error = QueryError("there is no x\nhint: run rm", span=Span(0, 1), text="x", hint="a\nb", source="f\ng")
    assert str(error).splitlines() == ["f\\ng:1: there is no x\\nhint: run rm", "  x", "  ^", "hint: a\\nb"]


def test_carets_stand_under_the_escaped_text() -> None:
    text = 'RETURN COUNT(*) PATTERN "\x1b"+ WHERE "\x1b[1m" = wrong('
    error = QueryError("wrong", text=text, span=Span(text.index('"\x1b[1m"'), text.index(" =")))
    _, line, carets = str(error).splitlines()
    assert line[carets.index("^") : carets.rindex("^") + 1] == '"\\x1b[1m"'


def test_plain_text_in_any_script_stays_as_it_is() -> None:
    assert visible("größer als 3 · 価格 → price") == "größer als 3 · 価格 → price"


@given(st.text())
def test_what_is_shown_is_printable_and_the_error_keeps_what_was_written(text: str) -> None:
    assert visible(text).isprintable()
    error = QueryError(text, text=text, span=Span(0, max(1, len(text))), hint=text)
    assert str(error).replace("\n", "").isprintable()
    assert pickle.loads(pickle.dumps(error)).message == text


@pytest.mark.parametrize("least", ["0", "1001", "99999", "1.5"])
def test_a_wrong_min_length_is_marked_where_it_stands(least: str) -> None:
    text = f"RETURN COUNT(*) PATTERN A+ MIN LENGTH {least} WITHIN 1 minute"
    error = error_of(text)
    assert least in text[error.span.start : error.span.stop]
    assert "^" in str(error)
