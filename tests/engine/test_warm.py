"""Kernels made ready beforehand."""

import gc
import sys
import warnings
from typing import Any

import pytest
from numba.core import event

from greta.engine import compiling, merging, trends, walks, warm
from greta.engine.row_choice import choose_row
from greta.engine.warm import PARTS, main
from greta.errors import GretaWarning
from greta.kernels.cells import add_cells
from greta.kernels.layers import find_layers
from greta.live import warm as live_warm


def test_every_part_is_made_ready_with_a_line_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(PARTS)
    for line, name in zip(lines, PARTS.values(), strict=True):
        assert line.startswith(f"greta: kernels are ready for {name}, ")


def test_one_part_is_made_ready_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main(["exact"])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("greta: kernels are ready for exact counts, ")


def test_a_part_that_is_not_there_is_said() -> None:
    with pytest.raises(SystemExit, match="no part 'usaul'\nhint: the parts are usual, exact"):
        main(["exact", "usaul"])


def _compile_for_long(part: object = None) -> None:
    """What Numba tells while a query compiles kernels."""
    with compiling.telling_of_compilation():
        for _ in range(2):
            event.start_event("numba:compile")
            event.end_event("numba:compile")


def test_a_query_that_compiles_for_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_PATIENCE", -1.0)
    with pytest.warns(GretaWarning, match="compiling kernels for this machine"):
        _compile_for_long()


def test_the_warning_is_at_the_line_that_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_PATIENCE", -1.0)
    with pytest.warns(GretaWarning, match="compiling") as caught:
        _compile_as_numba_does()
    assert caught[0].filename == __file__


def _compile_as_numba_does() -> None:
    """In context managers of its own."""
    with compiling.telling_of_compilation():
        for _ in range(2):
            with event.trigger_event("numba:compile"):
                pass


def test_sums_of_fractions_over_several_partitions_are_made_ready_too(monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_ = []
    monkeypatch.setattr(merging, "add_cells", lambda *given: sorted_.append(given) or add_cells(*given))
    warm.warm("usual")
    assert sorted_


def test_trends_of_runs_are_made_ready_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(walks, "find_layers", lambda *given: found.append(given) or find_layers(*given))
    warm.warm("trends")
    assert found


def test_on_a_terminal_a_line_says_so_and_another_how_long_it_took(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiling, "_PATIENCE", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GretaWarning)
        _compile_for_long()
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("greta: compiling kernels for this machine")
    assert second == "greta: compiled and answered after 0 s"


def test_showing_trends_says_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(*arguments: Any) -> Any:
        for _ in range(2):
            event.start_event("numba:compile")
            event.end_event("numba:compile")
        return choose_row(*arguments)

    monkeypatch.setattr(compiling, "_PATIENCE", -1.0)
    monkeypatch.setattr(trends, "choose_row", choose)
    with pytest.warns(GretaWarning, match="compiling kernels for this machine"):
        trends.trends([{"type": "A", "time": 1}], "RETURN COUNT(*) PATTERN A+")


def test_kernels_are_made_ready_without_a_warning_that_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiling, "_PATIENCE", -1.0)
    monkeypatch.setattr(warm, "warm", _compile_for_long)
    monkeypatch.setattr(live_warm, "warm", _compile_for_long)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GretaWarning)
        main()
        live_warm.main()
    assert capsys.readouterr().err == ""
    with pytest.warns(GretaWarning):
        _compile_for_long()


@pytest.mark.parametrize("collecting", [True, False])
def test_no_garbage_is_collected_until_a_kernel_and_its_parts_are_compiled(collecting: bool) -> None:
    try:
        (gc.enable if collecting else gc.disable)()
        with event.trigger_event("numba:compile"):
            with event.trigger_event("numba:compile"):
                assert not gc.isenabled()
            assert not gc.isenabled()
        assert gc.isenabled() is collecting
    finally:
        gc.enable()
