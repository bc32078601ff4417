// What may stand at the cursor, and what each is: clauses, event types, variables, attributes of the data.

const CLAUSES = {
  RETURN: "what a row shows", PATTERN: "what a trend is", SEMANTICS: "what may be skipped", MAXIMAL: "only trends that no other contains", "MIN LENGTH": "shortest trend, in events",
  WHERE: "conditions", "GROUP-BY": "a row for each", HAVING: "which rows", WITHIN: "length of a window", SLIDE: "from window to window",
};
const WORDS = { SEQ: "one after the other", NOT: "must not happen", AND: "both", OR: "one of them", AS: "a name", NEXT: "the event right after", TRUE: "", FALSE: "" };
const FUNCTIONS = {
  COUNT: "number of trends, or of events in them", MIN: "smallest", MAX: "largest", SUM: "total", AVG: "average",
  STDDEV: "spread of a value of trends", FIRST: "of a trend's first event", LAST: "of a trend's last event", DURATION: "of a trend, in seconds",
  LOG2: "binary logarithm", LOG10: "decimal logarithm", LN: "natural logarithm", SQRT: "square root", ABS: "without its sign",
};
const SELECTIONS = {
  "skip-till-any-match": "any event may be skipped", "skip-till-next-match": "only what does not fit is skipped", contiguous: "nothing is skipped",
};
const UNITS = { ms: "milliseconds", seconds: "", minutes: "", hours: "", days: "" };
const KEYWORD = /\b(RETURN|PATTERN|SEMANTICS|MAXIMAL|MIN\s+LENGTH|WHERE|GROUP(?:\s*-\s*|\s+)BY|HAVING|WITHIN|SLIDE)\b/gi;
const WORD = "[\\p{L}_][\\p{L}\\p{N}_]*";
const NAMED = new RegExp(`(${WORD})\\s+(${WORD})(?=\\s*[+*?{,)]|\\s*$|\\s)`, "gu");

const described = (words, type, rest = {}) => Object.entries(words).map(([label, detail]) => ({ label, detail, type, ...rest }));

// The completions for the text before the cursor. `data` has attributes {name, kind} and types {name, events}; `whole` is
// the whole text, in which variables are named; `asked`: the user pressed Ctrl+Space.
export function completions(before, whole, data, asked) {
  const code = before.replace(/--[^\n]*/g, (comment) => " ".repeat(comment.length));
  if (/--[^\n]*$/.test(before) || inText(code)) return null;
  const attributes = data.attributes.map(({ name, kind }) => ({ label: name, detail: kind, type: "property", boost: 2 }));
  const at = (pattern) => code.match(new RegExp(`${pattern}$`, "iu"))?.at(-1).length;
  const offer = (length, options) => ({ from: before.length - length, options });

  let length = at(`(?:NEXT\\s*\\(\\s*${WORD}\\s*\\)|${WORD})\\.([\\p{L}\\p{N}_]*)`);
  if (length !== undefined) return offer(length, attributes);
  length = at("\\[(?:[^\\]]*,)?\\s*([\\p{L}\\p{N}_]*)");
  if (length !== undefined) return offer(length, attributes);

  const clause = [...code.matchAll(KEYWORD)].at(-1)?.[1].toUpperCase();
  if (clause === "PATTERN") {
    length = at("(?:PATTERN|\\bOR|\\bAND|\\bNOT|[(,])\\s*([\\p{L}\\p{N}_]*)");
    const begun = at("PATTERN\\s+()") !== undefined;
    if (length !== undefined && (length > 0 || begun || asked))
      return offer(length, [
        ...data.types.map(({ name, events }) => ({ label: name, detail: events === null ? "event type" : `event type, ${events} events`, type: "class", boost: 2 })),
        { label: "SEQ(", detail: WORDS.SEQ, type: "keyword" }, { label: "NOT", detail: WORDS.NOT, type: "keyword", boost: -1 },
      ]);
  }
  length = at("([\\p{L}_][\\p{L}\\p{N}_-]*)") ?? 0;
  if (clause === "SEMANTICS" && at("SEMANTICS\\s+([\\w-]*)") !== undefined) return offer(at("SEMANTICS\\s+([\\w-]*)"), described(SELECTIONS, "keyword"));
  if (at("\\d\\s+([a-z]*)") !== undefined && ["WITHIN", "SLIDE"].includes(clause)) return offer(at("\\d\\s+([a-z]*)"), described(UNITS, "keyword"));
  if (length < 2 && !asked) return null;
  return offer(length, [
    ...described(CLAUSES, "keyword"), ...described(WORDS, "keyword", { boost: -1 }), ...variables(whole),
    ...Object.entries(FUNCTIONS).map(([label, detail]) => ({ label: `${label}(`, detail, type: "function" })),
    ...(["RETURN", "GROUP-BY", "GROUP BY"].includes(clause) ? attributes : []),
  ]);
}

// Inside quotes: an odd number of them since the line began.
const inText = (code) => (code.slice(code.lastIndexOf("\n") + 1).split("'").length - 1) % 2 === 1;

function variables(whole) {
  const pattern = whole.match(/\bPATTERN\b([\s\S]*?)(?=\b(?:SEMANTICS|MAXIMAL|MIN\s+LENGTH|WHERE|GROUP|HAVING|WITHIN)\b|$)/i)?.[1] ?? "";
  const found = new Map();
  for (const [, type, name] of pattern.matchAll(NAMED))
    if (!/^(SEQ|NOT|AND|OR)$/i.test(type) && !/^(SEQ|NOT|AND|OR)$/i.test(name)) found.set(name, type);
  return [...found].map(([label, type]) => ({ label, detail: `${type} events`, type: "variable", boost: 1 }));
}
