"""Every example of the documentation runs, and prints what the page says it prints.

A ``python`` or ``bash`` block is run; a ``text`` block right after it is its output. Blocks of one page share names
and a directory, which has the project's ``examples``. A comment before a block can say more::

    <!-- spark -->             the block needs a Spark session: run by the tests marked spark
    <!-- not run: reason -->   the block needs something that tests do not have

With ``GRETA_DOCS_UPDATE=1`` the pages are rewritten with the output that the blocks have now, and the pictures that
they draw (``*.svg`` in their directory) go into ``docs/images``.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser

from greta.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
UPDATE = os.environ.get("GRETA_DOCS_UPDATE") == "1"

_BEFORE = re.compile(r"<!-- (?P<word>spark|not run)(?:: (?P<reason>[^>]+))? -->\s*$")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
_BLOCK = re.compile(r"^(`{3,})(\w*).*?\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    """A code block, where it stands, and the output that follows it on the page."""

    example: Example
    word: str | None
    shown: Example | None = None

    @property
    def language(self) -> str:
        return str(self.example.region.lexemes["arguments"])

    @property
    def source(self) -> str:
        return str(self.example.parsed)


@dataclass
class Session:
    """Runs the blocks of one page one after the other."""

    directory: Path
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "docs"})

    def run(self, block: Block) -> str:
        return self.python(block) if block.language == "python" else self.shell(block)

    def python(self, block: Block) -> str:
        place = f"{Path(block.example.path).name}:{block.example.line}"
        # Blank lines before the code make tracebacks name the page's own lines.
        code = compile("\n" * block.example.line + block.source, place, "exec", dont_inherit=True)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, self.names)
        return printed.getvalue()

    def shell(self, block: Block) -> str:
        programs = Path(sys.executable).parent
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.source],
            cwd=self.directory,
            env=os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110"},
            text=True,
            capture_output=True,
            timeout=600,
            check=False,
        )
        assert ran.returncode == 0, f"line {block.example.line}:\n{ran.stdout}{ran.stderr}"
        return ran.stdout


class SparkPage(Session):
    """Runs a block that is one ``greta`` command in this process, too: another one would start another Java."""

    def shell(self, block: Block) -> str:
        name, *arguments = shlex.split(block.source.replace("\\\n", " "))
        if name != "greta" or {"|", ">", "&&"} & set(arguments):
            return super().shell(block)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), pytest.raises(SystemExit) as left:
            main(arguments)
        assert not left.value.code, f"line {block.example.line}:\n{printed.getvalue()}"
        return printed.getvalue()


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page that run, each with the output shown after it."""
    parsers = [CodeBlockParser(language, lambda _: None) for language in ("python", "bash", "text")]
    document = Sybil(parsers).parse(page)
    found: list[Block] = []
    last: Example | None = None
    for example in document.examples():
        between = document.text[last.region.end : example.region.start] if last is not None else ""
        if example.region.lexemes["arguments"] != "text":
            before = _BEFORE.search(document.text, 0, example.region.start)
            found.append(Block(example, before["word"] if before else None))
        elif found and last is found[-1].example and not between.strip("`\n "):
            found[-1].shown = example
        last = example
    return found


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    yield Session(tmp_path)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def check(session: Session, page: Path, *, spark: bool) -> None:
    updates: list[tuple[Example, str]] = []
    for block in blocks_of(page):
        if block.word == "not run" or (block.word == "spark" and not spark):
            continue
        printed = tidy(session.run(block))
        if block.shown is None:
            continue
        if UPDATE:
            updates.append((block.shown, printed))
        else:
            assert printed == tidy(str(block.shown.parsed)), f"{page.name}:{block.example.line} prints something else"
    text = page.read_text(encoding="utf-8")
    for example, printed in reversed(updates):
        start, stop = example.region.start, example.region.end
        text = f"{text[:start]}```text\n{printed}\n```{text[stop:]}"
    if updates:
        page.write_text(text, encoding="utf-8")
        for picture in session.directory.glob("*.svg"):
            shutil.copy(picture, DOCS / "images" / picture.name)


def names_of(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


WITH_CODE = [page for page in PAGES if any(block.word is None for block in blocks_of(page))]
WITH_SPARK = [page for page in PAGES if any(block.word == "spark" for block in blocks_of(page))]


@pytest.mark.parametrize("page", WITH_CODE, ids=names_of(WITH_CODE))
def test_the_examples_of_a_page_print_what_it_says(page: Path, session: Session) -> None:
    check(session, page, spark=False)


def check_alone(directory: Path, page: Path) -> None:
    """What the process for Spark does: its Java stays in the directory in which it was started, so all pages use one.

    Each finds it as if it were new, and starts a session of its own.
    """
    from pyspark.sql import SparkSession

    for entry in directory.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.copytree(ROOT / "examples", directory / "examples")
    os.chdir(directory)
    try:
        check(SparkPage(directory), page, spark=True)
    finally:
        if (session := SparkSession.getActiveSession()) is not None:
            session.stop()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], None]]:
    """Runs a page in a process apart from the tests, the same for all pages: starting Java takes longer than most."""
    directory = tmp_path_factory.mktemp("spark")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        yield lambda page: process.submit(check_alone, directory, page).result()


@pytest.mark.spark
@pytest.mark.parametrize("page", WITH_SPARK, ids=names_of(WITH_SPARK))
def test_the_spark_examples_of_a_page_print_what_it_says(page: Path, alone: Callable[[Path], None]) -> None:
    alone(page)


@pytest.mark.parametrize("page", PAGES, ids=names_of(PAGES))
def test_every_block_has_a_language_and_what_is_not_run_a_reason(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        assert block[2], f"a block without a language: {block[3][:60]}"
    for block in blocks_of(page):
        before = _BEFORE.search(text, 0, block.example.region.start)
        assert before is None or before["word"] == "spark" or before["reason"]


@pytest.mark.parametrize("page", PAGES, ids=names_of(PAGES))
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in _LINK.findall(text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = sorted(int(page.name[:4]) for page in (DOCS / "decisions").glob("[0-9]*.md"))
    assert numbers[0] == 1
    assert all(after == before + 1 for before, after in pairwise(numbers))


def test_the_paper_map_names_modules_and_tests_that_are_there() -> None:
    text = (DOCS / "paper-map.md").read_text(encoding="utf-8")
    modules = re.findall(r"`(greta(?:_research)?(?:\.[a-z_]+)+)`", text)
    tests = re.findall(r"`(tests/[a-z_/]+\.py)`", text)
    assert modules
    assert tests
    for module in modules:
        home = "research" if module.startswith("greta_research") else "src"
        path = ROOT / home / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__init__.py").exists(), module
    for test in tests:
        assert (ROOT / test).exists(), test


def test_the_paper_map_names_tests_by_their_names() -> None:
    text = (DOCS / "paper-map.md").read_text(encoding="utf-8")
    known = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(test_[a-z0-9_]+)`", text):
        assert f"def {name}(" in known, name
