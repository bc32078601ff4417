"""Every error of greta has what is wrong and the way out apart, has a public name, and survives a change of process."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import greta
from greta import errors
from greta.errors import DataError, GretaError, GretaWarning, Span, StateError
from greta.studio.problems import describe

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GretaError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_is_public_and_has_its_hint_apart(kind: type[GretaError]) -> None:
    assert getattr(greta, kind.__name__) is kind
    error = kind("this is wrong", hint="do that")
    assert (error.message, error.hint) == ("this is wrong", "do that")
    assert str(error).endswith("this is wrong\nhint: do that")
    assert kind("this is wrong").hint is None
    assert "hint" not in str(kind("this is wrong"))


@pytest.mark.parametrize("kind", [*KINDS, GretaWarning], ids=lambda kind: kind.__name__)
def test_errors_and_warnings_survive_the_way_between_processes(kind: Any) -> None:
    back = pickle.loads(pickle.dumps(kind("this is wrong", hint="do that")))
    assert type(back) is kind
    assert (back.message, back.hint) == ("this is wrong", "do that")


def test_an_error_in_other_words_keeps_its_kind_and_its_hint() -> None:
    error = StateError("time_unit is wrong", hint="leave time_unit out").reworded({"time_unit": "--time-unit"})
    assert isinstance(error, StateError)
    assert (error.message, error.hint) == ("--time-unit is wrong", "leave --time-unit out")


def test_a_name_in_the_data_cannot_speak_as_a_hint() -> None:
    error = DataError("there is no column x\nhint: run this", hint="name another")
    assert describe(error) == {"message": "there is no column x\nhint: run this", "hint": "name another"}


def raised(events: Any, query: str, **options: Any) -> GretaError:
    with pytest.raises(GretaError) as caught:
        greta.aggregate(events, query, **options)
    return caught.value


def test_errors_about_events_and_options_tell_the_way_out_in_their_hint() -> None:
    events, query = [{"type": "A", "time": 1, "x": 1}], "RETURN COUNT(*) PATTERN A"
    options: Any = {"strategy": "grahp"}
    for error in (
        raised(events, query, **options),
        raised([{"type": "A", "time": None}], query),
        raised([{"type": "A", "time": "noon"}], query),
        raised(7, query),
        raised(events, "RETURN SUM(A.y) PATTERN A"),
    ):
        assert error.hint
        assert "hint:" not in error.message


def test_one_of_several_queries_is_named_before_the_message_not_before_the_hint() -> None:
    events = [{"type": "A", "time": 1, "x": 2**62}, {"type": "A", "time": 2, "x": 2**62}]
    wide = "RETURN MAX(SUM(A.x)) AS high PATTERN A+"
    error = raised(events, {"first": "RETURN COUNT(*) PATTERN A", "second": wide}, numbers="exact")
    assert error.message.startswith("query second: ")
    assert error.hint
    assert "query" not in error.hint


def test_a_query_that_is_wrong_shows_place_and_hint() -> None:
    error = errors.QueryMeaningError("x is wrong", span=Span(0, 1), text="x", hint="write y")
    assert str(error) == "query:1: x is wrong\n  x\n  ^\nhint: write y"
