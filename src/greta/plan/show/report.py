"""Plan → report: titled sections of facts and tables, which the terminal and the web page show alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from greta.lang.printer import print_expression, print_pattern
from greta.plan.nodes import AccessPath, Link, Output, Place, Plan, State, Template
from greta.plan.show import cost, words
from greta.plan.show.draw import length_word, met_scopes, state_names
from greta.plan.stretches import by_stretches

PAIRS_FORMULA = "X·Y + X·Z + Y·Z + Z·(Z − 1)/2"

_ROLES = ("left of AND", "right of AND", "trends of both")

_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Facts:
    """Labelled lines."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A title, what stands under it, and the sections inside it."""

    title: str
    blocks: tuple[Facts | Table, ...] = ()
    sections: tuple[Section, ...] = ()


def report(plan: Plan) -> tuple[Section, ...]:
    """Everything a plan says, in the order in which people ask."""
    roles = _ROLES if plan.conjunction else ("",)
    templates = tuple(_positive(t, role, plan) for t, role in zip(plan.templates, roles, strict=True))
    return (Section("Clauses", (Facts(_clauses(plan)),)), *templates, _aggregates(plan), _cost(plan))


def guarded(template: Template, negative: int) -> tuple[str, ...]:
    """The transitions, or states, that a negative template watches over."""
    names = state_names(template)
    transitions = tuple(
        f"{names[t.source]} → {names[t.target]}"
        for t in template.transitions
        if negative in template.links[t.link].negations
    )
    return transitions + tuple(names[s.index] for s in template.states if negative in s.clips)


def conditions(link: Link) -> tuple[str, ...]:
    """The edge predicates of a transition."""
    return tuple(print_expression(predicate.condition) for predicate in link.predicates)


def access(link: Link) -> str:
    """The access path in words."""
    stretches = ["stretch without a match of the NOT"] * (len(link.negations) > len(link.lasting))
    keys = words.listed([*(print_expression(e.previous) for e in link.equal), *stretches])
    ranges = words.listed([*(print_expression(o.previous) for o in link.ordered), *["time"] * bool(link.lasting)])
    per_key = f", per {keys}" if keys else ""
    match link.path:
        case AccessPath.FREE:
            return "free: running total"
        case AccessPath.EQUAL:
            return f"equal: running total{per_key}"
        case AccessPath.ORDERED:
            return f"ordered: range sum over {ranges}{per_key}"
        case AccessPath.UNEQUAL:
            return f"unequal: sums below and above {ranges}{per_key}"
        case AccessPath.RANGES:
            return f"ranges: box sum over {ranges}{per_key}"
        case AccessPath.GENERAL:
            narrowed = words.listed([part for part in (keys, ranges) if part])
            return "general: scan" + (f", narrowed by {narrowed}" if narrowed else "")


def _clauses(plan: Plan) -> tuple[tuple[str, str], ...]:
    common, scopes = plan.partitioning.common, plan.partitioning.scopes
    agreed = [f"all events agree on {words.listed(common)}"] * bool(common)
    agreed += [f"events of {words.listed(sorted(s.variables), 'or')} agree on {s.attribute}" for s in scopes]
    rows = [
        ("Pattern", print_pattern(plan.query.pattern)),
        ("Selection", f"{plan.semantics.value}: {words.SEMANTICS_MEANING[plan.semantics]}"),
    ]
    if plan.query.maximal:
        rows.append(("Maximal", "only trends that no other trend contains"))
    if plan.min_length > 1:
        rows.append(("Length", f"at least {plan.min_length} events"))
    rows.append(("Partitions", "; ".join(agreed) or "none: all events together"))
    rows.append(("Groups", ", ".join(plan.group) or "none: one row per window"))
    shown = words.windows(plan.window)
    if plan.window is not None:
        together = ", put together of stretches of events" if by_stretches(plan) else ""
        shown += f": k = {plan.window.per_event} per event{together}"
    rows.append(("Windows", shown))
    if plan.having is not None:
        rows.append(("Kept rows", print_expression(plan.having)))
    rows.append(("Columns read", ", ".join(("time", "type", *plan.attributes))))
    return tuple(rows)


def _positive(template: Template, role: str, plan: Plan) -> Section:
    title = f"Template ({role})" if role else "Template"
    return _template(f"{title}: {print_pattern(template.pattern)}", template, plan, ())


def _template(title: str, template: Template, plan: Plan, path: tuple[int, ...]) -> Section:
    if not template.states:
        return Section(title, (Facts((("States", "none: no trend fits"),)),))
    tables = (_states(template, plan, path), _transitions(template, path))
    sections = tuple(_negative(template, i, plan, (*path, i + 1)) for i in range(len(template.negatives)))
    return Section(title, tuple(table for table in tables if table.rows), sections)


def _negative(parent: Template, index: int, plan: Plan, path: tuple[int, ...]) -> Section:
    negative = parent.negatives[index]
    section = _template(
        f"Negative template {_label(path)}: NOT {print_pattern(negative.template.pattern)}",
        negative.template,
        plan,
        path,
    )
    where = words.listed(guarded(parent, index)) or "nothing"
    verb = "guards the transition" if negative.place is Place.BETWEEN else "clips the window of"
    place = Facts(
        (
            ("Place", f"{negative.place.value}, {verb} {where}"),
            ("Effect", words.PLACE_MEANING[negative.place]),
        )
    )
    return Section(section.title, (place, *section.blocks), section.sections)


def _label(path: Sequence[int]) -> str:
    return "N" + ".".join(map(str, path))


def _states(template: Template, plan: Plan, path: tuple[int, ...]) -> Table:
    """Columns that would be empty for every state are left out."""
    counted = plan.min_length > 1 and any(state.length != 1 for state in template.states)
    split = any(met_scopes(state, template, plan) is not None for state in template.states)
    clipped = any(state.clips for state in template.states)
    local = any(plan.local_conditions(state.variable) for state in template.states)
    headers = ["state", "variable", "type", "role"]
    headers += ["length"] * counted + ["fixed so far"] * split
    headers += ["clipped by"] * clipped + ["local predicates"] * local

    def row(state: State, name: str) -> tuple[str, ...]:
        roles = [word for word, holds in (("start", state.start), ("end", state.end)) if holds]
        cells = [name, state.variable, state.event_type, ", ".join(roles) or _NOTHING]
        if counted:
            cells.append(length_word(state.length, plan.min_length).removeprefix("length "))
        if split:
            cells.append(", ".join(met_scopes(state, template, plan) or ()) or _NOTHING)
        if clipped:
            cells.append(", ".join(_label((*path, i + 1)) for i in state.clips) or _NOTHING)
        if local:
            own = plan.local_conditions(state.variable)
            cells.append(" AND ".join(print_expression(c) for c in own) or _NOTHING)
        return tuple(cells)

    rows = tuple(row(s, name) for s, name in zip(template.states, state_names(template), strict=True))
    return Table(tuple(headers), rows)


def _transitions(template: Template, path: tuple[int, ...]) -> Table:
    names = state_names(template)
    rows = []
    for transition in template.transitions:
        link = template.links[transition.link]
        held = [*conditions(link), *(f"no {_label((*path, i + 1))} in between" for i in link.negations)]
        rows.append(
            (
                f"{names[transition.source]} → {names[transition.target]}",
                transition.operator,
                "; ".join(held) or _NOTHING,
                access(link),
                f"O({cost.link_order(link)})",
            )
        )
    return Table(("transition", "operator", "conditions", "access path", "cost per event"), tuple(rows))


def _aggregates(plan: Plan) -> Section:
    def row(output: Output) -> tuple[str, ...]:
        name = f"{output.name} (not shown)" if output.hidden else output.name
        measures = ", ".join(plan.measures[at].words for at in output.measures)
        return name, print_expression(output.aggregate), measures

    rows = [row(output) for output in plan.outputs]
    rows += [(column.name, print_expression(column.expression), "computed from the others") for column in plan.computed]
    return Section("Aggregates", (Table(("column", "aggregate", "measures"), tuple(rows)),))


def _cost(plan: Plan) -> Section:
    rows = [("Per event", cost.per_event(plan))]
    where = ["n = events per window and partition"]
    if plan.window is not None and plan.window.per_event > 1:
        where.append(f"k = {plan.window.per_event} windows per event")
    rows.append(("Where", ", ".join(where)))
    if plan.conjunction:
        rows.append(("Pairs", PAIRS_FORMULA))
        rows.append(("", "with X trends of the left alone, Y of the right alone, Z of both"))
    return Section("Cost", (Facts(tuple(rows)),))
