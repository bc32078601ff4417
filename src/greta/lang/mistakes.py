"""A place where the grammar could not go on → an error that says what was expected, and how to mend it.

The commonest slips get a hint of their own; all others the plain words of ``expected.py``.
"""

from __future__ import annotations

from greta.errors import QuerySyntaxError, Span, did_you_mean
from greta.lang.expected import Piece, Stop, example_for, found_words, message_for, place_of, read_pieces
from greta.lang.foreign import FOREIGN_FUNCTIONS, FOREIGN_WORDS
from greta.lang.sequences import as_sequence
from greta.lang.words import CLAUSES, FUNCTIONS, KEYWORDS, MATH_FUNCTIONS, VALUE_FUNCTIONS, quoted


def explain(text: str, at: Span | None, accepted: frozenset[str]) -> QuerySyntaxError:
    """The error for text that stops making sense ``at`` a token, or at its end (None)."""
    pieces = read_pieces(text)
    if at is None:
        stop = Stop(pieces, None, (), accepted)
    else:
        found = next((p for p in pieces if p.span.start >= at.start), Piece("", text[at.start : at.stop], at))
        before = tuple(p for p in pieces if p.span.start < at.start)
        stop = Stop(before, found, tuple(p for p in pieces if p.span.start > at.start), accepted)
    if not pieces:
        return QuerySyntaxError(
            "the query is empty",
            hint="the shortest query is RETURN COUNT(*) PATTERN A+, with an event type for A",
        )
    for slip in _SLIPS:
        if error := slip(stop):
            return error
    return QuerySyntaxError(message_for(stop), span=place_of(stop), hint=example_for(stop))


# Slips, in the order in which they are tried. Each looks at one kind and returns None for all others.


def _wrong_beginning(stop: Stop) -> QuerySyntaxError | None:
    if stop.accepted != {"RETURN"} or stop.found is None:
        return None
    hint = FOREIGN_WORDS.get(stop.word) or did_you_mean(stop.found.text, ["RETURN"]) or example_for(stop)
    return QuerySyntaxError(f"a query begins with RETURN, {found_words(stop)}", span=place_of(stop), hint=hint)


def _two_words(stop: Stop) -> str:
    following = stop.after[0] if stop.after else None
    if stop.found is None or following is None or following.kind != "WORD":
        return ""
    return f"{stop.word} {following.word}"


def _clause(stop: Stop) -> str:
    """The clause in which reading stopped, in capitals."""
    return next((piece.word for piece in reversed(stop.before) if piece.word in CLAUSES), "")


def _not_a_function(stop: Stop) -> QuerySyntaxError | None:
    """``PREV(S).price``, and ``FIRST(S.price)`` where no aggregate stands around it."""
    called = stop.last()
    if stop.found is None or stop.found.text != "(" or called.kind != "WORD":
        return None
    if called.word in VALUE_FUNCTIONS:
        clause = _clause(stop)
        example = "DURATION(*)" if called.word == "DURATION" else f"{called.word}(S.price)"
        hint = f"aggregate it over the trends: AVG({example})"
        if clause == "WHERE":
            hint = f"WHERE judges an event, or an event and the next; in RETURN and HAVING, {hint}"
        return QuerySyntaxError(f"{called.text} is a value of a whole trend", span=called.span, hint=hint)
    if called.word in FOREIGN_FUNCTIONS:
        return QuerySyntaxError(
            f"{called.text} is not a function", span=called.span, hint=FOREIGN_FUNCTIONS[called.word]
        )
    return None


def _distinct(stop: Stop) -> QuerySyntaxError | None:
    """``COUNT(DISTINCT S.price)``"""
    if stop.last().word != "DISTINCT" or stop.found is None or stop.last(2).text != "(":
        return None
    return QuerySyntaxError(
        "DISTINCT is not part of the language: trends share events, and all of them count",
        span=stop.last().span,
        hint="COUNT(*) counts trends, COUNT(S) events of S; group by an attribute to tell its values apart",
    )


def _arrow(stop: Stop) -> QuerySyntaxError | None:
    """``A -> B``"""
    if stop.found is None or stop.found.text != "-" or not stop.after or stop.after[0].text != ">":
        return None
    return QuerySyntaxError(
        "-> has no meaning here",
        span=stop.found.span | stop.after[0].span,
        hint=f"write one after another as {as_sequence(stop, '->')}",
    )


def _list_of_patterns(stop: Stop) -> QuerySyntaxError | None:
    """``PATTERN A, B``"""
    if stop.found is None or stop.found.text != "," or "$END" not in stop.accepted or _clause(stop) != "PATTERN":
        return None
    return QuerySyntaxError(
        "a comma stands between the parts of SEQ",
        span=place_of(stop),
        hint=f"write one after another as {as_sequence(stop, ',')}",
    )


def _computed_from_attribute(stop: Stop) -> QuerySyntaxError | None:
    """``RETURN S.price * 2``, ``RETURN LOG2(S.price)`` and ``RETURN COUNT(*) AS n, LOG2(n) AS bits``"""
    if stop.found is None:
        return None
    if stop.found.text in ("+", "-", "*", "/", "%") and "PATTERN" in stop.accepted:
        names = [*(piece.text for piece in stop.before[-3:] if stop.last(2).text == "."), stop.last().text]
        path, example = "".join(names[:3]), "AVG({}) " + f"{stop.found.text} 2 AS name"
    elif stop.word and stop.word not in KEYWORDS and "CALL" in stop.accepted and "NAME" not in stop.accepted:
        fields = [piece.text for piece in stop.after[:2] if stop.after[0].text == "."]
        path, example = "".join([stop.found.text, *fields]), "AVG({})"
    else:
        return None
    if "." not in path and any(
        one.word == "AS" and other.text == path for one, other in zip(stop.before, stop.before[1:], strict=False)
    ):
        return QuerySyntaxError(
            f"RETURN computes from aggregates, and {path} is the name of a column",
            span=place_of(stop),
            hint=f"write again what {path} is made of: COUNT(*) AS n, LOG2(COUNT(*)) AS bits; HAVING knows its names",
        )
    return QuerySyntaxError(
        f"RETURN computes from aggregates, and {path} is an attribute",
        span=place_of(stop),
        hint=f"aggregate it first: {example.format(path if '.' in path else 'S.' + path)}",
    )


def _return_star(stop: Stop) -> QuerySyntaxError | None:
    """``RETURN *``"""
    if stop.last().word != "RETURN" or stop.found is None or stop.found.text != "*":
        return None
    return QuerySyntaxError(
        "RETURN names what a row shows: attributes of GROUP-BY, and aggregates",
        span=place_of(stop),
        hint="count the trends: RETURN COUNT(*); their events are shown by greta.trends, or greta run --trends 3",
    )


def _misspelt_keyword(stop: Stop) -> QuerySyntaxError | None:
    """A near miss of a keyword that could stand here, or of one that was just taken for a variable."""
    known = [terminal for terminal in stop.accepted if terminal in KEYWORDS]
    known += [
        clause for clause in ("MIN LENGTH", "GROUP-BY") if clause.replace("-", "_").replace(" ", "_") in stop.accepted
    ]
    if stop.word and stop.word not in KEYWORDS and known:
        two = _two_words(stop)
        pairs = [clause for clause in known if " " in clause or "-" in clause]
        guess = did_you_mean(stop.word, known) if len(stop.word) > 2 else None
        if stop.word in ("MIN", "GROUP") or not guess:
            guess = (did_you_mean(two, pairs) if two else None) or guess
        if guess:
            return QuerySyntaxError(message_for(stop), span=place_of(stop), hint=guess)
    previous = stop.last()
    if previous.kind != "WORD" or previous.word in KEYWORDS or stop.found is None:
        return None
    if stop.found.text == "(":
        guess = did_you_mean(previous.text, [*FUNCTIONS, *MATH_FUNCTIONS, "NEXT", "SEQ"])
        if guess:
            return QuerySyntaxError(f"{previous.text} is not a function", span=previous.span, hint=guess)
    if "WITHIN" in stop.accepted and stop.last(2).kind == "WORD" and len(previous.text) > 2:
        guess = did_you_mean(previous.text, [*CLAUSES[2:], "AND", "OR"])
        if guess:
            return QuerySyntaxError(f"{previous.text} was read as a variable here", span=previous.span, hint=guess)
    return None


def _unknown_function(stop: Stop) -> QuerySyntaxError | None:
    """``RETURN EXP(COUNT(*))``: a word before a parenthesis where no pattern is written."""
    called = stop.last()
    clause = _clause(stop)
    if stop.found is None or stop.found.text != "(" or called.kind != "WORD" or called.word in KEYWORDS:
        return None
    if clause not in ("RETURN", "WHERE", "HAVING"):
        return None
    hint = f"there are {', '.join(FUNCTIONS)} of events and trends, and {', '.join(MATH_FUNCTIONS)} of aggregates"
    if clause == "WHERE":
        hint = "conditions have + - * / % and NEXT(S).price; add what else is computed to the events, as a column"
    return QuerySyntaxError(f"{called.text} is not a function", span=called.span, hint=hint)


def _missing_before_keyword(stop: Stop) -> QuerySyntaxError | None:
    """``WHERE AND GROUP-BY x``: a keyword in capitals was taken for a name because one was missing."""
    clauses = {clause.replace("-", " ").split()[0] for clause in CLAUSES} - {"MIN"}
    for at in range(len(stop.before) - 1, max(0, len(stop.before) - 5), -1):
        piece = stop.before[at]
        if piece.text in clauses and _leaves_open(stop.before[:at]):
            return QuerySyntaxError(
                f"something is missing before {piece.text}",
                span=piece.span,
                hint=f'write what belongs there; a name spelt like a keyword goes in quotes: "{piece.text}"',
            )
    return None


def _leaves_open(before: tuple[Piece, ...]) -> bool:
    """Whether the pieces end with a keyword or a sign that asks for something to follow."""
    last = before[-1]
    if last.text in ("+", "*"):
        # In a pattern they repeat what stands before them; in a condition they are operators.
        opened = next((piece.word for piece in reversed(before) if piece.word in CLAUSES), "")
        return opened != "PATTERN"
    if last.kind in ("SIGN", "COMPARISON"):
        return last.text not in (")", "]", "}", "?")
    return last.word in KEYWORDS


def _foreign_word(stop: Stop) -> QuerySyntaxError | None:
    if stop.word in FOREIGN_WORDS and "NAME" not in stop.accepted:
        return QuerySyntaxError(message_for(stop), span=place_of(stop), hint=FOREIGN_WORDS[stop.word])
    return None


def _next_without_parentheses(stop: Stop) -> QuerySyntaxError | None:
    if stop.last().word != "NEXT" or "LPAR" not in stop.accepted or stop.found is None:
        return None
    if stop.found.kind == "WORD":
        variable = quoted(stop.found.text)
        name = quoted(stop.after[1].text) if len(stop.after) > 1 and stop.after[1].kind == "WORD" else "price"
        hint = f"write NEXT({variable}).{name}"
    else:
        hint = "write NEXT(S).price, with a variable of the pattern"
    return QuerySyntaxError(
        "NEXT takes its variable in parentheses", span=stop.last().span | stop.found.span, hint=hint
    )


def _next_of_attribute(stop: Stop) -> QuerySyntaxError | None:
    """``NEXT(S.price)``"""
    names = [piece.text for piece in stop.before[-3:]]
    if stop.found is None or stop.found.text != "." or len(names) < 3 or names[0].upper() != "NEXT":
        return None
    name = stop.after[0].text if stop.after and stop.after[0].kind == "WORD" else "price"
    return QuerySyntaxError(
        "NEXT takes a variable, and the attribute comes after it",
        span=place_of(stop),
        hint=f"write NEXT({names[2]}).{name}",
    )


def _chained_comparison(stop: Stop) -> QuerySyntaxError | None:
    if stop.found is None or stop.found.kind != "COMPARISON" or not {"AND", "MINUS"} <= stop.accepted:
        return None
    return QuerySyntaxError(
        "comparisons do not chain", span=place_of(stop), hint="write a < b AND b < c instead of a < b < c"
    )


def _unbalanced(stop: Stop) -> QuerySyntaxError | None:
    opened: list[Piece] = []
    for piece in stop.before:
        if piece.text in ("(", "["):
            opened.append(piece)
        elif piece.text in (")", "]") and opened:
            opened.pop()
    if stop.found is not None and stop.found.text in (")", "]") and not opened:
        return QuerySyntaxError(
            f"this {stop.found.text} closes nothing",
            span=place_of(stop),
            hint=f"leave out the {stop.found.text}",
        )
    closes = {"RPAR", "RSQB"} & stop.accepted
    if opened and closes and (stop.found is None or stop.word in KEYWORDS or stop.word in ("GROUP", "MIN")):
        sign = opened[-1].text
        closing = ")" if sign == "(" else "]"
        where = "the query ends" if stop.found is None else f"{stop.found.text} comes"
        hint = f"close it with {closing}"
        if stop.found is not None and stop.found.text != stop.word and stop.last().kind == "WORD":
            hint += f', or put {stop.found.text} between double quotes if it is a name: "{stop.found.text}"'
        return QuerySyntaxError(f"this {sign} is still open when {where}", span=opened[-1].span, hint=hint)
    return None


def _name_without_as(stop: Stop) -> QuerySyntaxError | None:
    if stop.found is None or "AS" not in stop.accepted or stop.found.kind not in ("WORD", "QUOTED"):
        return None
    return QuerySyntaxError(
        message_for(stop),
        span=place_of(stop),
        hint=f"put AS before a column's name, and a comma between columns: COUNT(*) AS {stop.found.text}",
    )


def _renamed_attribute(stop: Stop) -> QuerySyntaxError | None:
    if stop.word != "AS" or "PATTERN" not in stop.accepted:
        return None
    return QuerySyntaxError(
        "only aggregates can be named with AS",
        span=place_of(stop),
        hint="return the attribute under its own name",
    )


def _missing_comma(stop: Stop) -> QuerySyntaxError | None:
    if stop.found is None or "COMMA" not in stop.accepted:
        return None
    if stop.found.kind not in ("WORD", "QUOTED") and stop.found.text != "(":
        return None
    if "AS" in stop.accepted or (stop.found.text == "(" and stop.last().kind == "WORD"):
        return None
    parts = f"{stop.last().text}, {stop.found.text}" if stop.last().kind == "WORD" else "SEQ(A+, B)"
    return QuerySyntaxError(
        message_for(stop),
        span=place_of(stop),
        hint=f"put a comma between the parts: {parts}",
    )


def _two_variables(stop: Stop) -> QuerySyntaxError | None:
    """``Stock S T``"""
    names = (stop.last(2), stop.last(), stop.found)
    if "MINUS" in stop.accepted or not {"AND", "WITHIN"} <= stop.accepted:
        return None
    if stop.found is not None and stop.word in KEYWORDS and stop.found.text != stop.word:
        return QuerySyntaxError(
            message_for(stop),
            span=place_of(stop),
            hint=f'put a name spelt like a keyword in quotes: "{stop.found.text}"',
        )
    if any(piece is None or piece.kind != "WORD" or piece.word in KEYWORDS for piece in names):
        return None
    return QuerySyntaxError(
        f"an event type has one variable, {found_words(stop)}",
        span=place_of(stop),
        hint=f"write {stop.last(2).text} {stop.last().text}, and SEQ(...) around parts in a row",
    )


def _missing_unit(stop: Stop) -> QuerySyntaxError | None:
    taken = stop.last()
    if taken.word in KEYWORDS and stop.last(2).kind == "NUMBER" and stop.last(3).word in ("WITHIN", "SLIDE"):
        return QuerySyntaxError(
            f"expected a unit of time, found {taken.text}",
            span=taken.span,
            hint=f"say which: {stop.last(2).text} seconds",
        )
    if taken.kind != "NUMBER" or "NAME" not in stop.accepted:
        return None
    return QuerySyntaxError(
        f"expected a unit of time, {found_words(stop)}",
        span=place_of(stop),
        hint=f"say which: {stop.last().text} seconds",
    )


def _open_bound(stop: Stop) -> QuerySyntaxError | None:
    """``A{,3}``"""
    if stop.last().text != "{" or stop.found is None or stop.found.text != ",":
        return None
    return QuerySyntaxError("the lower bound is missing", span=place_of(stop), hint="write it: A{0,3}, or A{1,3}")


def _empty_sequence(stop: Stop) -> QuerySyntaxError | None:
    if stop.last(2).word != "SEQ" or stop.found is None or stop.found.text != ")":
        return None
    return QuerySyntaxError("SEQ needs at least one part", span=place_of(stop), hint="write SEQ(Start S, End E)")


_SLIPS = (
    _wrong_beginning,
    _next_without_parentheses,
    _next_of_attribute,
    _missing_unit,
    _open_bound,
    _empty_sequence,
    _chained_comparison,
    _foreign_word,
    _renamed_attribute,
    _not_a_function,
    _distinct,
    _arrow,
    _list_of_patterns,
    _return_star,
    _computed_from_attribute,
    _missing_before_keyword,
    _unbalanced,
    _misspelt_keyword,
    _unknown_function,
    _name_without_as,
    _missing_comma,
    _two_variables,
)
