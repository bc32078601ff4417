"""Kernels made ready beforehand."""

import pytest

from greta.engine.warm import PARTS, main


def test_every_part_is_made_ready_with_a_line_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(PARTS)
    for number, (line, name) in enumerate(zip(lines, PARTS.values(), strict=True), start=1):
        assert line.startswith(f"greta: compiling kernels {number}/3: {name}, ")
