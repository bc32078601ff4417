"""Plans as golden files show them: every field that execution uses, in the words of the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from greta.lang.printer import print_expression, print_pattern
from greta.plan.nodes import Link, NegativeTemplate, Plan, State, Template


def plan_text(plan: Plan) -> str:
    """One line per thing to review; templates first, negative ones indented below their parents."""
    lines: list[str] = []
    for title, template in zip(_titles(plan), plan.templates, strict=True):
        lines += [title, *_template(template)] if title else _template(template)
    lines += _rows("local", (f"{_set(p.variables)}: {print_expression(p.condition)}" for p in plan.local_predicates))
    common, scopes = plan.partitioning.common, plan.partitioning.scopes
    lines += _rows("common", [", ".join(common)] if common else [])
    lines += _rows("scopes", (f"{scope.attribute} of {_set(scope.variables)}" for scope in scopes))
    if plan.group:
        lines += _rows("group", [f"{', '.join(plan.group)}; returned: {', '.join(plan.returned) or 'none'}"])
    if plan.window is not None:
        lines += _rows("window", [f"{plan.window.within} ms every {plan.window.slide} ms"])
    lines += _rows("maximal", ["only trends that no other trend contains"] if plan.maximal else [])
    lines += _rows("measures", (f"{index}: {measure.words}" for index, measure in enumerate(plan.measures)))
    lines += _rows(
        "outputs",
        (
            f"{o.name} = {o.finish.value} of {', '.join(map(str, o.measures))}{' (hidden)' * o.hidden}"
            for o in plan.outputs
        ),
    )
    lines += _rows("computed", (f"{c.name} = {print_expression(c.expression)}" for c in plan.computed))
    if plan.having is not None:
        lines += _rows("having", [print_expression(plan.having)])
    lines += _rows("attributes", [", ".join(plan.attributes)] if plan.attributes else [])
    return "\n".join(lines) + "\n"


def _titles(plan: Plan) -> tuple[str, ...]:
    return ("left", "right", "both") if plan.conjunction else ("",)


def _rows(title: str, rows: Iterable[str]) -> Iterator[str]:
    for index, row in enumerate(rows):
        yield f"{title if index == 0 else '':<13}{row}"


def _template(template: Template) -> list[str]:
    names = _names(template)
    lines = [*_rows("states", (_state(state, names) for state in template.states))]
    if not template.states:
        lines += _rows("states", ["none"])
    lines += _rows(
        "transitions",
        (
            f"{names[t.source]}→{names[t.target]} {t.operator}{_link(template, template.links[t.link])}"
            for t in template.transitions
        ),
    )
    for index, negative in enumerate(template.negatives):
        lines += [_negative(index, negative), *(f"  {line}" for line in _template(negative.template))]
    return lines


def _names(template: Template) -> list[str]:
    """Variables, numbered where several states share one."""
    variables = [state.variable for state in template.states]
    return [
        f"{variable}{variables[:index].count(variable) + 1}" if variables.count(variable) > 1 else variable
        for index, variable in enumerate(variables)
    ]


def _state(state: State, names: list[str]) -> str:
    words = [names[state.index], "start" * state.start, "end" * state.end]
    words += [f"({state.event_type})" if state.event_type != state.variable else ""]
    words += [f"clips {', '.join(map(str, state.clips))}" if state.clips else ""]
    words += [
        f"seen {state.seen:b}" if state.seen else "",
        f"length {state.length}" if state.length > 1 else "",
    ]
    return " ".join(filter(None, words))


def _link(template: Template, link: Link) -> str:
    parts = [f"{print_expression(e.previous)} = {print_expression(e.next)}" for e in link.equal]
    parts += [f"{print_expression(o.previous)} {o.operator} {print_expression(o.next)}" for o in link.ordered]
    parts += [f"scan {print_expression(condition)}" for condition in link.residual]
    parts += [f"NOT {index} ({print_pattern(template.negatives[index].template.pattern)})" for index in link.negations]
    return f", {link.path.value}: {'; '.join(parts)}" if parts else f", {link.path.value}"


def _negative(index: int, negative: NegativeTemplate) -> str:
    return f"NOT {index}        {negative.place.value}: {print_pattern(negative.template.pattern)}"


def _set(variables: frozenset[str]) -> str:
    return ", ".join(sorted(variables))
