"""Plan → SVG: templates as in the paper's figures, negative ones in dashed boxes.

A start state has an arrow from nowhere, an end state a double rim. A dashed arrow leads from each box to what
it guards: a transition (NOT in the middle) or the states whose window it clips (leading and trailing NOT).
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from greta.drawing import svg
from greta.drawing.svg import Drawing, Point
from greta.lang.printer import print_expression, print_pattern
from greta.plan.nodes import NegativeTemplate, Place, Plan, State, Template, Transition
from greta.plan.show.automaton import Edge, Node, Picture, draw_automaton
from greta.plan.show.words import PLACE_MEANING

MOST_STATES = 60
MOST_TRANSITIONS = 180
"""Beyond these a picture of a template says less than its table."""

_LABEL_CHARACTERS = 30
_LABEL_LINES = 4
_CAPTION_CHARACTERS = 100
_PAD = 14.0
_LANE = 9.0

_AND_CAPTIONS = ("left of AND: ", "right of AND: ", "trends of both: ")


def draw_plan(plan: Plan) -> str:
    """All templates of a plan in one SVG."""
    heads = _AND_CAPTIONS if plan.conjunction else ("",)
    drawings = [
        _titled(head + print_pattern(template.pattern), draw_template(template, plan))
        for head, template in zip(heads, plan.templates, strict=True)
    ]
    return svg.stack(drawings).document(f"Template of {print_pattern(plan.query.pattern)}")


def draw_template(template: Template, plan: Plan) -> Drawing:
    """One template with its negatives beneath it, nested as they are nested."""
    if not template.states:
        return _note("No trend fits: there are no states.")
    if not drawable(template):
        return _note(
            f"{len(template.states)} states and {len(template.transitions)} transitions "
            "are too many for a picture; the table lists them."
        )
    # Trends grow from left to right, so that most transitions lead to a neighbour.
    order = sorted(range(len(template.states)), key=lambda i: template.states[i].length)
    position = {state: i for i, state in enumerate(order)}
    picture = draw_automaton(
        [_node(template, plan, state) for state in order],
        [_edge(template, transition, position) for transition in template.transitions],
    )
    if not template.negatives:
        return Drawing(picture.lines + picture.labels, picture.width, picture.height)
    landings = [
        [
            *(
                picture.on_edge[i]
                for i, transition in enumerate(template.transitions)
                if negative in template.links[transition.link].negations
            ),
            *(picture.on_node[position[s.index]] for s in template.states if negative in s.clips),
        ]
        for negative in range(len(template.negatives))
    ]
    return _with_negatives(picture, [_negative_box(n, plan) for n in template.negatives], landings)


def drawable(template: Template) -> bool:
    """Whether a picture of the template is still worth looking at."""
    return len(template.states) <= MOST_STATES and len(template.transitions) <= MOST_TRANSITIONS


def state_names(template: Template) -> tuple[str, ...]:
    """What to call the states: by variable, numbered where several states share one.

    A state's number says nothing but which is which: ``A#0``, ``A#1``.
    """
    uses = Counter(state.variable for state in template.states)
    return tuple(s.variable if uses[s.variable] == 1 else f"{s.variable}#{s.index}" for s in template.states)


def length_word(length: int, min_length: int) -> str:
    """Events so far; counting stops at MIN LENGTH."""
    return f"length {length}" if length < min_length else f"length ≥ {min_length}"


def met_scopes(state: State, template: Template, plan: Plan) -> tuple[str, ...] | None:
    """Scoped attributes that a trend has fixed by this state; None where that tells no states apart."""
    if len({(s.variable, s.seen) for s in template.states}) == len(template.variables):
        return None
    return tuple(scope.attribute for i, scope in enumerate(plan.partitioning.scopes) if state.seen >> i & 1)


def _node(template: Template, plan: Plan, index: int) -> Node:
    state = template.states[index]
    name = state_names(template)[index]
    conditions = [print_expression(c) for c in plan.local_conditions(state.variable)]
    lines = [_short(name)]
    if state.event_type != state.variable:
        lines.append(_short(state.event_type))
    if plan.min_length > 1 and any(s.length != 1 for s in template.states):
        lines.append(length_word(state.length, plan.min_length))
    met = met_scopes(state, template, plan)
    if met is not None:
        lines.append(_short(f"fixed: {', '.join(met) or '–'}"))
    lines += _wrapped(conditions)
    roles = [word for word, holds in (("start", state.start), ("end", state.end)) if holds]
    hint = f"state {name}: {state.event_type} {', '.join(roles)}".rstrip()
    return Node(tuple(lines), state.start, state.end, "\n".join([hint, *conditions]))


def _edge(template: Template, transition: Transition, position: dict[int, int]) -> Edge:
    link, names = template.links[transition.link], state_names(template)
    source, target, operator = transition.source, transition.target, transition.operator
    ends = position[source], position[target]
    conditions = [print_expression(predicate.condition) for predicate in link.predicates]
    hint = f"{names[source]} → {names[target]} ({operator}), access path {link.path.value}"
    return Edge(*ends, operator, tuple(_wrapped(conditions)), "\n".join([hint, *conditions]))


def _with_negatives(picture: Picture, boxes: Sequence[Drawing], landings: Sequence[Sequence[Point]]) -> Drawing:
    """The boxes below the picture, each near the points where its dashed arrows land."""
    top = picture.height + 16 + _LANE * sum(len(points) for points in landings)
    body, right, lane = picture.lines, 0.0, 0
    taken: Counter[Point] = Counter()
    for box, points in sorted(zip(boxes, landings, strict=True), key=lambda pair: _middle(pair[1])):
        left = max(right, _middle(points) - box.width / 2)
        body += svg.group(box.body, x=left, y=top)
        for rank, point in enumerate(points):
            x, y = point[0] - 8.0 * taken[point], point[1]
            taken[point] += 1
            body += _dependency(left, box.width, top, (x, y), top - 10 - _LANE * lane, rank)
            lane += 1
        right = left + box.width + 20
    return Drawing(body + picture.labels, max(picture.width, right - 20), top + max(box.height for box in boxes))


def _middle(points: Sequence[Point]) -> float:
    return sum(x for x, _ in points) / len(points) if points else 0.0


def _dependency(left: float, width: float, top: float, goal: Point, lane: float, rank: int) -> str:
    if left + 12 <= goal[0] <= left + width - 12:
        points = [(goal[0], top), goal]
    else:
        begin = min(left + width / 2 + 10.0 * rank, left + width - 12)
        points = [(begin, top), (begin, lane), (goal[0], lane), goal]
    return svg.arrow(points, role="negative", dashed=True, radius=6)


def _negative_box(negative: NegativeTemplate, plan: Plan) -> Drawing:
    inner = draw_template(negative.template, plan)
    captions = [f"NOT {print_pattern(negative.template.pattern)}", *_meaning(negative.place)]
    captions = [_short(caption, _CAPTION_CHARACTERS) for caption in captions]
    head = svg.block_height(captions, 11) + 10
    width = max(inner.width, *(svg.text_width(caption, 11) for caption in captions)) + 2 * _PAD
    height = head + inner.height + 2 * _PAD
    body = svg.box(0, 0, width, height, radius=8, fill="paper", stroke="negative", dashed=True)
    for i, caption in enumerate(captions):
        y = _PAD + (i + 0.7) * 11 * svg.LINE_HEIGHT
        body += svg.text(_PAD, y, caption, size=11, anchor="start", role="negative" if i == 0 else "muted", bold=i == 0)
    return Drawing(body + svg.group(inner.body, x=_PAD, y=_PAD + head), width, height)


def _meaning(place: Place) -> list[str]:
    return textwrap.wrap(PLACE_MEANING[place], 44)


def _titled(caption: str, drawing: Drawing) -> Drawing:
    caption = _short(caption, _CAPTION_CHARACTERS)
    body = svg.text(0, 12, caption, anchor="start", bold=True) + svg.group(drawing.body, y=28)
    return Drawing(body, max(drawing.width, svg.text_width(caption)), drawing.height + 28)


def _note(words: str) -> Drawing:
    return Drawing(svg.text(0, 14, words, anchor="start", role="muted"), svg.text_width(words), 22)


def _wrapped(conditions: Sequence[str]) -> list[str]:
    """Conditions cut into short lines; what does not fit is left to the hint."""
    joined = [f"{c} AND" for c in conditions[:-1]] + list(conditions[-1:])
    lines = [line for c in joined for line in textwrap.wrap(c, _LABEL_CHARACTERS)]
    return lines if len(lines) <= _LABEL_LINES else [*lines[: _LABEL_LINES - 1], "…"]


def _short(text: str, most: int = _LABEL_CHARACTERS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
