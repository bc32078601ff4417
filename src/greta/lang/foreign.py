"""Words of other languages, in capitals → the hint that says the same in this one."""

from __future__ import annotations

FOREIGN_WORDS = {
    "SELECT": "write RETURN instead of SELECT: RETURN COUNT(*) PATTERN Stock S+",
    "FROM": "there is no FROM: PATTERN names the event types, and the events are given beside the query",
    "BETWEEN": "write two comparisons: S.price >= 1 AND S.price <= 2",
    "IN": "write the alternatives out: (S.name = 'a' OR S.name = 'b')",
    "LIKE": "text is compared as a whole: S.name = 'IBM'; add what is looked for in it as a column of its own",
    "IS": "a condition over NULL is never true: S.price = S.price holds where price is not NULL",
    "ORDER": "rows come in no order: sort the result instead",
    "LIMIT": "HAVING chooses rows: HAVING COUNT(*) > 1000",
    "WINDOW": "windows are given by WITHIN and SLIDE: WITHIN 10 minutes SLIDE 1 minute",
    "PARTITION": "what all events of a trend share stands in brackets: WHERE [company]",
    "XOR": "write it with AND, OR and NOT",
    "MOD": "write % for the remainder: S.price % 2 = 0",
}
"""Words where the grammar cannot go on."""

FOREIGN_FUNCTIONS = {
    "PREV": "look forward instead, from the earlier event: S.price > PREV(S.price) is S.price < NEXT(S).price",
    "PREVIOUS": "look forward instead, from the earlier event: S.price > PREV(S.price) is S.price < NEXT(S).price",
    "LAG": "look forward instead, from the earlier event: S.price > PREV(S.price) is S.price < NEXT(S).price",
    "LEAD": "write NEXT(S).price for the event after S",
    "MEDIAN": "a median needs the values one by one: ask for MIN, MAX, AVG, or STDDEV of a value of trends",
    "PERCENTILE": "a percentile needs the values one by one: ask for MIN, MAX, AVG, or STDDEV of a value of trends",
    "QUANTILE": "a quantile needs the values one by one: ask for MIN, MAX, AVG, or STDDEV of a value of trends",
    "LENGTH": "a trend's number of events is COUNT(*): MAX(COUNT(*)) is that of the longest",
    "STDEV": "did you mean STDDEV?",
    **dict.fromkeys(
        ("VAR", "VARIANCE", "VAR_POP"),
        "STDDEV is its square root: STDDEV(SUM(S.price)) * STDDEV(SUM(S.price)) AS variance",
    ),
    "LOG": "say which: LN, LOG2 or LOG10",
    **dict.fromkeys(("POW", "POWER"), "multiply instead: COUNT(*) * COUNT(*) AS square"),
    **dict.fromkeys(("ROUND", "FLOOR", "CEIL"), "leave it out, and round the rows that come back"),
}
"""Words before a parenthesis."""
