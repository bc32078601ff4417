"""The types of expressions: checked against the schema where there is one, and among constants always."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from greta.errors import QueryError, QueryMeaningError, SchemaError, Span, did_you_mean
from greta.lang.nodes import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Boolean,
    Call,
    Comparison,
    Equivalence,
    Expression,
    Name,
    Negative,
    Not,
    Number,
    Or,
    ReturnValue,
    Text,
    TrendAggregate,
)
from greta.lang.walk import walk
from greta.plan.draft import Draft, listing
from greta.plan.nodes import AttributeType

_FAMILY = {
    AttributeType.INTEGER: "a number",
    AttributeType.FLOAT: "a number",
    AttributeType.TEXT: "text",
    AttributeType.BOOLEAN: "true or false",
    AttributeType.TIMESTAMP: "a time stamp",
}


def check_types(draft: Draft) -> None:
    """Every attribute exists and every expression makes sense; without a schema, as far as constants tell."""
    for item in draft.query.where:
        if isinstance(item, Equivalence):
            for agreed in item.attributes:
                attribute_type(agreed.name, agreed.span, draft)
        else:
            _check_condition(item, draft)
    for grouped in draft.query.group_by:
        attribute_type(grouped.name, grouped.span, draft)
    for returned in draft.query.returns:
        if isinstance(returned, ReturnValue):
            type_of(returned.expression, draft)
    if draft.query.having is not None:
        _check_condition(draft.query.having, draft)


def attribute_type(name: str, span: Span, draft: Draft) -> AttributeType | None:
    """The attribute's type; None where no schema tells, or where it tells only that the attribute is there."""
    if draft.schema is None:
        return None
    if name not in draft.schema:
        known = list(draft.schema)
        has = f"the events have {listing(known)}" if known else "the events have no attributes"
        guess = did_you_mean(name, known)
        raise SchemaError(f"the events have no attribute {name}", span=span, hint=f"{guess} {has}" if guess else has)
    return draft.schema[name]


def type_of(expression: Expression, draft: Draft) -> AttributeType | None:
    """The expression's type; None where it is unknown. FLOAT also stands for a number of either kind."""
    match expression:
        case Number(value=value):
            return AttributeType.INTEGER if isinstance(value, int) else AttributeType.FLOAT
        case Text():
            return AttributeType.TEXT
        case Boolean():
            return AttributeType.BOOLEAN
        case Attribute(name=name):
            return attribute_type(name, expression.span, draft)
        case Name(name=name):
            return _type_of_name(name, draft)
        case Aggregate():
            return _type_of_aggregate(expression, draft)
        case TrendAggregate():
            return _type_of_trend_aggregate(expression, draft)
        case Call(function=function, operand=operand):
            _number(operand, function, draft)
            return AttributeType.FLOAT
        case Negative(operand=operand):
            found = _number(operand, "-", draft)
            return found or AttributeType.FLOAT
        case Arithmetic(operator=sign, left=left, right=right):
            types = {_number(left, sign, draft), _number(right, sign, draft)}
            return AttributeType.INTEGER if types == {AttributeType.INTEGER} and sign != "/" else AttributeType.FLOAT
        case Comparison():
            _check_comparison(expression, draft)
            return AttributeType.BOOLEAN
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                _check_condition(part, draft)
            return AttributeType.BOOLEAN
        case Not(operand=operand):
            _check_condition(operand, draft)
            return AttributeType.BOOLEAN
        case _:
            assert_never(expression)


def _type_of_name(name: str, draft: Draft) -> AttributeType | None:
    for returned in draft.query.returns:
        if isinstance(returned, ReturnValue) and returned.name == name:
            return type_of(returned.expression, draft)
    return None if draft.schema is None else draft.schema.get(name)


def _type_of_trend_aggregate(aggregate: TrendAggregate, draft: Draft) -> AttributeType | None:
    """Values of trends are numbers; only the smallest and largest of whole numbers, and their sum, are whole."""
    whole = aggregate.function in ("MIN", "MAX", "SUM")
    for part in aggregate.parts:
        if part.attribute is None:
            whole &= part.function == "COUNT"
            continue
        found = attribute_type(part.attribute, part.span, draft)
        if found not in (None, AttributeType.INTEGER, AttributeType.FLOAT):
            raise SchemaError(
                f"a value of a trend is a number, and {part.attribute} is {_FAMILY[found]}",
                span=part.span,
                hint=f"count its events with COUNT({part.variable}), or take MIN or MAX over all events",
            )
        whole &= found is AttributeType.INTEGER
    return AttributeType.INTEGER if whole else AttributeType.FLOAT


def _type_of_aggregate(aggregate: Aggregate, draft: Draft) -> AttributeType | None:
    if aggregate.attribute is None:
        return AttributeType.INTEGER
    found = attribute_type(aggregate.attribute, aggregate.span, draft)
    if aggregate.function in ("MIN", "MAX"):
        return found
    if found not in (None, AttributeType.INTEGER, AttributeType.FLOAT):
        raise SchemaError(
            f"{aggregate.function} needs numbers, and {aggregate.attribute} is {_FAMILY[found]}",
            span=aggregate.span,
            hint=f"make it a number first, count its events with COUNT({aggregate.variable}), or take MIN or MAX",
        )
    return found if found is AttributeType.INTEGER and aggregate.function == "SUM" else AttributeType.FLOAT


def _number(operand: Expression, sign: str, draft: Draft) -> AttributeType | None:
    found = type_of(operand, draft)
    if found in (None, AttributeType.INTEGER, AttributeType.FLOAT):
        return found
    hint = "arithmetic is for numbers; text and time stamps can only be compared"
    if isinstance(operand, Text):
        hint = "numbers are written without quotes: 5 rather than '5'"
    raise _error(f"{sign} needs numbers, and this is {_FAMILY[found]}", operand.span, hint, draft, operand)


def _check_condition(condition: Expression, draft: Draft) -> None:
    found = type_of(condition, draft)
    if found not in (None, AttributeType.BOOLEAN):
        raise _error(
            f"a condition is true or false, and this is {_FAMILY[found]}",
            condition.span,
            f"compare it with something: {draft.quote(condition.span, 'S.price')} > 0"
            if _FAMILY[found] == "a number"
            else f"compare it with something: {draft.quote(condition.span, 'S.name')} = 'text'",
            draft,
            condition,
        )


def _check_comparison(comparison: Comparison, draft: Draft) -> None:
    sides = [comparison.left, comparison.right]
    types = [type_of(side, draft) for side in sides]
    if AttributeType.TIMESTAMP in types and any(isinstance(side, Text) for side in sides):
        for side in sides:
            if isinstance(side, Text):
                _check_time(side)
        return
    left, right = types
    if left is not None and right is not None and _FAMILY[left] != _FAMILY[right]:
        raise _error(
            f"{comparison.operator} compares {_FAMILY[left]} with {_FAMILY[right]}",
            comparison.span,
            "compare numbers with numbers, text with 'text', time stamps with '2024-05-01T12:00:00'",
            draft,
            *sides,
        )
    if AttributeType.BOOLEAN in types and comparison.operator not in ("=", "!="):
        raise _error(
            f"true and false have no order for {comparison.operator}",
            comparison.span,
            "compare them with = or !=",
            draft,
            *sides,
        )


def _check_time(text: Text) -> None:
    try:
        datetime.fromisoformat(text.value)
    except ValueError:
        raise SchemaError(
            f"'{text.value}' is not a time stamp",
            span=text.span,
            hint="write it as in '2024-05-01T12:00:00' or '2024-05-01'",
        ) from None


def _error(message: str, span: Span, hint: str, draft: Draft, *involved: Expression) -> QueryError:
    """A ``SchemaError`` where the types of attributes matter, else the query by itself makes no sense."""
    nodes = (node for expression in involved for node, _ in walk(expression))
    read = draft.schema is not None and any(
        isinstance(node, Attribute | Aggregate | TrendAggregate | Name) for node in nodes
    )
    return (SchemaError if read else QueryMeaningError)(message, span=span, hint=hint)
