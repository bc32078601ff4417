"""The language on one page, for the studio: what is written, and what it means. Every example is a part of a query."""

from __future__ import annotations

PATTERNS: tuple[tuple[str, str], ...] = (
    ("Stock S+", "one or more Stock events; S names them"),
    ("SEQ(A, B+, C)", "an A, then B's, then a C, in the order of time"),
    ("A*   A?", "none or more, none or one; a whole pattern matches one event at least"),
    ("A{3}   A{2,}   A{2,5}", "three, two or more, two to five"),
    ("A OR SEQ(B, C)", "one or the other"),
    ("SEQ(A, NOT B, C)", "no B between them; at either end, none before or after"),
    ("A+ AND B+", "pairs of trends, one of each; outermost only"),
)
CONDITIONS: tuple[tuple[str, str], ...] = (
    ("[company]", "all events of a trend have the same company"),
    ("S.price > 100", "which events may be an S"),
    ("S.price > NEXT(S).price", "from each S to the S after it: prices fall"),
    ("U.price > NEXT(D).price", "from a U to the D right after it"),
    ("S.side = 'buy' OR NOT S.volume < 10", "and, or, not, + - * / %, parentheses"),
)
RETURNED: tuple[tuple[str, str], ...] = (
    ("COUNT(*)", "the number of trends"),
    ("COUNT(S)", "S events, counted once for each trend they are in"),
    ("MIN(S.price)", "smallest value over all trends; MAX, SUM and AVG likewise"),
    ("COUNT(*) AS trends", "a name of your own"),
    ("MAX(COUNT(*))", "the longest trend, in events: an aggregate of a value of each trend"),
    ("MIN(LAST(S.price) - FIRST(S.price))", "the steepest fall; AVG, SUM, STDDEV likewise"),
    ("AVG(DURATION(*))", "how long trends last, in seconds"),
    ("LOG2(COUNT(*)) AS bits", "computed from aggregates: + - * /, LOG2, LOG10, LN, SQRT, ABS"),
)
CLAUSES: tuple[tuple[str, str], ...] = (
    ("RETURN sector, COUNT(*)", "what a row shows; attributes of GROUP-BY, and aggregates"),
    ("PATTERN Stock S+", "what a trend is"),
    (
        "SEMANTICS contiguous",
        "no gaps; skip-till-next-match skips misfits; skip-till-any-match, the usual one, anything",
    ),
    ("MAXIMAL", "only trends that no other contains; with SEMANTICS contiguous or skip-till-next-match, and E+"),
    ("MIN LENGTH 3", "trends of three events or more"),
    ("WHERE [company] AND S.price > 5", "conditions on events, on neighbours, and what trends share"),
    ("GROUP-BY sector", "a row for each sector"),
    ("HAVING COUNT(*) > 100", "only rows like this"),
    ("WITHIN 10 minutes SLIDE 30 seconds", "windows, and how far apart they begin; without it, one over all events"),
    ("-- a comment", "up to the end of the line"),
)


def listing() -> list[dict[str, object]]:
    """The sections, as the page shows them."""
    sections = {
        "A query, clause by clause": CLAUSES,
        "Patterns": PATTERNS,
        "Conditions": CONDITIONS,
        "What is returned": RETURNED,
    }
    return [
        {"title": title, "rows": [{"text": text, "meaning": meaning} for text, meaning in rows]}
        for title, rows in sections.items()
    ]
