"""What `explain` says: text held in golden files, pictures read back as XML, pages fed hostile names."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given

from greta.drawing.svg import text_width
from greta.lang.nodes import Query
from greta.lang.parser import parse
from greta.plan.analyze import analyze
from greta.plan.explain import Explanation, explain
from greta.plan.show.words import duration, sentence
from support.queries import queries
from support.samples import conformance_queries

GOLDEN = Path(__file__).parent / "golden_explain"

Q1 = """RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds"""
Q2 = """RETURN mapper, SUM(M.cpu) PATTERN SEQ(Start S, Measurement M+, End E)
WHERE [job, mapper] AND M.load < NEXT(M).load GROUP-BY mapper WITHIN 1 minute SLIDE 30 seconds"""
Q3 = """RETURN segment, COUNT(*), AVG(P.speed) PATTERN SEQ(NOT Accident A, Position P+)
WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed GROUP-BY segment WITHIN 5 minutes SLIDE 1 minute"""


def counting(pattern: str, rest: str = "") -> str:
    return f"RETURN COUNT(*) PATTERN {pattern} {rest}"


QUERIES = {
    "q1": Q1,
    "q2": Q2,
    "q3": Q3,
    "figure_6a": counting("A+"),
    "figure_6b": counting("SEQ(A+, B)"),
    "figure_6c": counting("SEQ(A+, B)+"),
    "figure_6d": counting("SEQ(A+, NOT SEQ(C, NOT E, D), B)+"),
    "figure_8a": counting("SEQ(A+, NOT E)"),
    "figure_8b": counting("SEQ(NOT E, A+)"),
    "figure_9": counting("SEQ(A+, B)+", "WITHIN 10 seconds SLIDE 3 seconds"),
    "multiple_occurrences": counting("SEQ(A+, B, A, A+, B+)"),
    "or": counting("(A OR B)+"),
    "bounds": counting("A{2,4}"),
    "min_length": counting("SEQ(A+, B)+", "MIN LENGTH 3"),
    "and": counting("A+ AND SEQ(A, B)"),
    "access_paths": """RETURN COUNT(*), COUNT(B), MIN(A.x) PATTERN SEQ(A+, B+)+ SEMANTICS contiguous
        WHERE A.x > 3 AND A.x = NEXT(A).x AND A.x < NEXT(B).x AND A.y > NEXT(B).y
        AND (B.x + NEXT(A).x) % 2 = 0 HAVING MAX(B.y) > 7""",
}

DRAWN = {
    **QUERIES,
    "crowded": counting("SEQ(A+, NOT F, B, C*, (D OR E x)+, NOT SEQ(G, H))", "WHERE A.x > 2"),
    "jumps": counting("SEQ(A*, B*, C*, D*)+", "WHERE A.xxxxxxxxxxxxxxx > NEXT(C).yyyyyyyyyyyyyyyyyy"),
    "two_nots": counting("SEQ(A+, NOT X, B+, NOT Y, C)+"),
    "counted_or": counting("(A OR B)+", "MIN LENGTH 3"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_text_is_the_golden_one(name: str) -> None:
    """GRETA_UPDATE_GOLDEN=1 writes the files anew, for review in the diff."""
    path, text = GOLDEN / f"{name}.txt", f"{explain(QUERIES[name])}\n"
    if os.environ.get("GRETA_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_query_text_tree_and_plan_are_explained_alike() -> None:
    query = parse(Q1)
    assert explain(Q1) == explain(query) == explain(analyze(query))


def test_q1_in_words_reads_as_a_sentence() -> None:
    assert explain(Q1).words == (
        "For each window of 10 minutes, a new one every 10 seconds, and each sector: the number of trends. "
        "A trend is one or more Stock events S, where all events agree on company and sector "
        "and S.price is greater than the next S.price."
    )


@given(queries())
def test_every_query_has_words(query: Query) -> None:
    assert sentence(query).endswith(".")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("A", "an A event"),
        ("B b", "a B event b"),
        ("A*", "any number of A events"),
        ("SEQ(A?, B)", "optionally an A event, then a B event"),
        ("A{1}", "exactly 1 A event"),
        ("A{2,}", "at least 2 A events"),
        ("A{2,4}", "2 to 4 A events"),
        ("SEQ(A, NOT C, B)", "an A event, then (with no C event in between) a B event"),
        ("SEQ(NOT E, A)", "an A event, none of them after an E event"),
        (
            "SEQ(A, NOT SEQ(C, D))",
            "an A event, none of them before the start of a match of (a C event, then a D event)",
        ),
        ("SEQ((A OR B), C)", "(either an A event or a B event), then a C event"),
        ("SEQ(A, B)+", "one or more rounds of (an A event, then a B event)"),
    ],
)
def test_every_operator_has_words(pattern: str, words: str) -> None:
    assert explain(counting(pattern)).words == f"Over all events: the number of trends. A trend is {words}."


def test_and_is_explained_as_pairs() -> None:
    explanation = explain(counting("A+ AND SEQ(A, B)"))
    assert "the number of pairs. A pair is two different trends" in explanation.words
    assert "X·Y + X·Z + Y·Z + Z·(Z − 1)/2" in str(explanation)
    assert len(explanation.to_dict()["templates"]) == 3


@pytest.mark.parametrize(
    ("where", "window", "cost"),
    [
        ("", "", "O(1)"),
        ("", "WITHIN 10 seconds SLIDE 4 seconds", "O(k)"),
        ("", "WITHIN 10 seconds SLIDE 2 seconds", "O(1)"),
        ("WHERE A.x = NEXT(A).x", "WITHIN 10 seconds", "O(1)"),
        ("WHERE A.x < NEXT(A).x", "WITHIN 10 seconds SLIDE 2 seconds", "O(k·log n)"),
        ("WHERE A.x < NEXT(A).x AND A.y > NEXT(A).y", "", "O(√n)"),
        ("WHERE (A.x + NEXT(A).x) % 2 = 0", "", "O(n)"),
    ],
)
def test_the_dearest_transition_sets_the_cost(where: str, window: str, cost: str) -> None:
    assert explain(counting("A+", f"{where} {window}")).cost == cost


def test_a_negative_template_takes_part_in_the_cost() -> None:
    assert explain(counting("SEQ(A, NOT SEQ(C, D), B)", "WHERE C.x < NEXT(D).x")).cost == "O(log n)"


@pytest.mark.parametrize(
    ("negative", "where", "access", "cost"),
    [
        ("C", "", "equal: running total, per stretch without a match of the NOT", "O(1)"),
        (
            "C",
            "WHERE A.x < NEXT(B).x",
            "ordered: range sum over A.x, per stretch without a match of the NOT",
            "O(log n)",
        ),
        ("SEQ(C, D)", "", "ordered: range sum over time", "O(log n)"),
        ("C+", "WHERE A.x < NEXT(B).x", "ranges: box sum over A.x and time", "O(√n)"),
    ],
)
def test_a_guarded_transition_sums_a_stretch_or_a_range_of_time(
    negative: str, where: str, access: str, cost: str
) -> None:
    (template,) = explain(counting(f"SEQ(A, NOT {negative}, B)", where)).to_dict()["templates"]
    assert [(t["access"], t["cost"]) for t in template["transitions"]] == [(access, cost)]


@pytest.mark.parametrize(
    ("clauses", "scope"),
    [
        ("", "Over all events:"),
        ("GROUP-BY g, h", "For each g and h:"),
        ("WITHIN 1 hour", "For each window of 1 hour:"),
        ("WITHIN 10 seconds SLIDE 3 seconds", "For each window of 10 seconds, a new one every 3 seconds:"),
        ("GROUP-BY g WITHIN 1 hour", "For each window of 1 hour and each g:"),
    ],
)
def test_the_words_say_for_what_a_row_is_returned(clauses: str, scope: str) -> None:
    assert explain(counting("A", clauses)).words.startswith(f"{scope} the number of trends.")


def test_the_json_holds_the_dict() -> None:
    explanation = explain(Q3)
    facts = explanation.to_dict()
    assert json.loads(explanation.to_json()) == facts
    negative = facts["templates"][0]["negatives"][0]
    assert (negative["place"], negative["guards"]) == ("leading", ["P"])
    assert facts["window"] == {"within_ms": 300_000, "slide_ms": 60_000, "per_event": 5}


def test_the_guarded_transition_is_named() -> None:
    outer = explain(counting("SEQ(A+, NOT SEQ(C, NOT E, D), B)+")).to_dict()["templates"][0]["negatives"][0]
    assert outer["guards"] == ["A → B"]
    assert outer["template"]["negatives"][0]["guards"] == ["C → D"]


@pytest.mark.parametrize("milliseconds", [1, 999, 1_000, 90_000, 3_600_000, 86_400_000])
def test_durations_in_words_are_read_back_by_the_language(milliseconds: int) -> None:
    window = parse(counting("A", f"WITHIN {duration(milliseconds)}")).window
    assert window is not None
    assert window.within.milliseconds == milliseconds


@dataclass(frozen=True)
class Label:
    """Text on a picture with the box it fills."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Label) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def labels(node: ET.Element, x: float = 0, y: float = 0) -> Iterator[Label]:
    move = re.fullmatch(r"translate\((\S+) (\S+)\)", node.get("transform", ""))
    if move:
        x, y = x + float(move[1]), y + float(move[2])
    if node.tag.endswith("}text") and node.text:
        size = float(node.attrib["font-size"])
        width, baseline = text_width(node.text, size), y + float(node.attrib["y"])
        left = x + float(node.attrib["x"]) - width * {"start": 0, "middle": 0.5, "end": 1}[node.attrib["text-anchor"]]
        yield Label(node.text, left, baseline - 0.7 * size, left + width, baseline + 0.1 * size)
    for child in node:
        yield from labels(child, x, y)


@pytest.mark.parametrize("name", DRAWN)
def test_labels_never_overlap_and_stay_inside_the_picture(name: str) -> None:
    check_labels(explain(DRAWN[name]))


def check_labels(explanation: Explanation) -> None:
    root = ET.fromstring(explanation.svg())
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    found = list(labels(root))
    assert not [(a.text, b.text) for a, b in combinations(found, 2) if a.overlaps(b)]
    assert all(a.left >= 0 and a.top >= 0 and a.right <= width and a.bottom <= height for a in found)


def test_states_that_differ_only_in_what_a_trend_has_fixed_say_so() -> None:
    explanation = explain(counting("SEQ(A*, P+)+", "WHERE [P.vehicle]"))
    states = explanation.to_dict()["templates"][0]["states"]
    assert [(s["variable"], s["seen"]) for s in states] == [("A", []), ("A", ["vehicle"]), ("P", ["vehicle"])]
    assert "fixed so far" in str(explanation)
    assert {"fixed: –", "fixed: vehicle"} <= set(texts(explanation))


def test_every_conformance_query_is_explained_and_drawn_without_overlaps() -> None:
    for query in conformance_queries():
        explanation = explain(query)
        assert explanation.cost in str(explanation)
        check_labels(explanation)


def test_an_intersection_without_trends_is_said_to_have_no_states() -> None:
    explanation = explain(counting("A AND B"))
    assert "none: no trend fits" in str(explanation)
    assert "No trend fits: there are no states." in texts(explanation)


def texts(explanation: Explanation) -> list[str]:
    return [label.text for label in labels(ET.fromstring(explanation.svg()))]


def test_the_picture_shows_states_types_operators_and_predicates() -> None:
    shown = texts(explain(Q2))
    assert {"S", "Start", "M", "Measurement", "E", "End", "+", "M.load < NEXT(M).load"} <= set(shown)
    assert shown.count("SEQ") == 2


def test_the_picture_shows_local_predicates_in_their_state() -> None:
    assert "A.x > 3" in texts(explain(counting("A+", "WHERE A.x > 3")))


def dashed(explanation: Explanation, tag: str) -> int:
    root = ET.fromstring(explanation.svg())
    return sum(node.tag.endswith(f"}}{tag}") and "stroke-dasharray" in node.attrib for node in root.iter())


@pytest.mark.parametrize(
    ("pattern", "boxes", "arrows"),
    [
        ("A+", 0, 0),
        ("SEQ(NOT E, A+)", 1, 1),
        ("SEQ(A+, NOT SEQ(C, NOT E, D), B)+", 2, 2),
        ("SEQ(A, B, NOT E)", 1, 2),
    ],
)
def test_every_negative_template_has_a_dashed_box_and_points_at_what_it_guards(
    pattern: str, boxes: int, arrows: int
) -> None:
    explanation = explain(counting(pattern))
    assert (dashed(explanation, "rect"), dashed(explanation, "path")) == (boxes, arrows)


def test_a_large_automaton_is_left_to_the_table() -> None:
    explanation = explain(counting("A{100}"))
    assert "are too many for a picture" in explanation.svg()
    assert len(explanation.svg()) < 4_000
    assert "A#98 → A#99" in str(explanation)


HOSTILE = '<script>alert("x")</script>&\'\x1b]0;pwned\x07'


def hostile() -> Explanation:
    name = '"' + HOSTILE.replace('"', '""') + '"'
    text = "'" + HOSTILE.replace("'", "''") + "'"
    return explain(
        f"RETURN COUNT(*) PATTERN SEQ({name} A+, NOT {name} N, {name} B) "
        f"WHERE A.{name} = {text} AND A.{name} < NEXT(A).{name} GROUP-BY {name}"
    )


def test_hostile_names_are_escaped_wherever_they_are_shown() -> None:
    explanation = hostile()
    for markup in (
        explanation.html(),
        explanation.svg(),
        explanation._repr_html_(),
        explanation._repr_svg_(),
    ):
        assert "<script" not in markup
        assert "&lt;script&gt;" in markup
        assert "\x1b" not in markup
    ET.fromstring(explanation.svg())


def test_hostile_names_do_not_command_the_terminal() -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", str(hostile()))


def test_the_page_needs_nothing_from_elsewhere_and_knows_light_and_dark() -> None:
    page = explain(Q3).html()
    assert not re.search(r"\b(?:src|href)=|url\(|@import", page)
    assert "prefers-color-scheme: dark" in page
    assert page.count("<svg") == page.count("</svg>") == 1
    assert "P.speed &gt; NEXT(P).speed" in page
