// The query editor: CodeMirror with greta's words, errors underlined where they are.
import {
  EditorState, EditorView, HighlightStyle, Prec, StreamLanguage, autocompletion, bracketMatching, completionKeymap,
  defaultKeymap, drawSelection, history, historyKeymap, keymap, setDiagnostics, syntaxHighlighting, tags,
} from "../vendor/codemirror.js";
import { html, useEffect, useRef } from "../vendor/preact.js";

const CLAUSES = ["RETURN", "PATTERN", "SEMANTICS", "MIN LENGTH", "WHERE", "GROUP-BY", "HAVING", "WITHIN", "SLIDE"];
const WORDS = ["SEQ", "NOT", "AND", "OR", "AS", "NEXT", "TRUE", "FALSE"];
const FUNCTIONS = ["COUNT", "MIN", "MAX", "SUM", "AVG"];
const SELECTIONS = ["skip-till-any-match", "skip-till-next-match", "contiguous"];
const UNITS = ["ms", "seconds", "minutes", "hours", "days"];

const KEYWORD = /^(?:RETURN|PATTERN|SEMANTICS|MIN\s+LENGTH|WHERE|GROUP(?:\s*-\s*|\s+)BY|HAVING|WITHIN|SLIDE|SEQ|NOT|AND|OR|AS|NEXT)\b/i;
const RULES = [
  [/^--.*/, "comment"],
  [/^'(?:[^']|'')*'?/, "string"],
  [/^"(?:[^"]|"")*"?/, "variableName"],
  [/^(?:skip-till-(?:any|next)-match|contiguous|TRUE|FALSE)\b/i, "atom"],
  [KEYWORD, "keyword"],
  [/^(?:COUNT|MIN|MAX|SUM|AVG)(?=\s*\()/i, "function"],
  [/^(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?/i, "number"],
  [/^[\p{L}_][\p{L}\p{N}_]*/u, "variableName"],
  [/^(?:[<>!=]=?|<>|[-+*/%?])/, "operator"],
];

const language = StreamLanguage.define({
  token(stream) {
    if (stream.eatSpace()) return null;
    for (const [rule, kind] of RULES) if (stream.match(rule)) return kind;
    stream.next();
    return null;
  },
  tokenTable: { function: tags.function(tags.variableName) },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: tags.function(tags.variableName), color: "var(--function)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.string, tags.number, tags.atom], color: "var(--constant)" },
  { tag: tags.operator, color: "var(--muted)" },
]);

const look = EditorView.theme({
  "&": { fontSize: "14px", backgroundColor: "var(--field)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--mono)", padding: "10px 4px", minHeight: "9.5em", caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", border: "1px solid var(--line)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--negative)" },
  ".cm-lintRange-error": {
    backgroundImage: "none", textDecoration: "underline wavy var(--negative)", textUnderlineOffset: "4px",
  },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
});

// `given` is a text put into the editor from outside, as an object of its own each time: what people type only
// goes out, and never comes back to overwrite what they typed meanwhile.
export function Editor({ given, problem, attributes, onChange, onRun }) {
  const place = useRef(), view = useRef(), latest = useRef({});
  latest.current = { onChange, onRun, attributes };

  useEffect(() => {
    const options = () => [
      ...CLAUSES.map((label) => ({ label, type: "keyword" })),
      ...[...WORDS, ...SELECTIONS, ...UNITS].map((label) => ({ label, type: "keyword", boost: -1 })),
      ...FUNCTIONS.map((label) => ({ label: `${label}(`, type: "function" })),
      ...latest.current.attributes.map((label) => ({ label, type: "property", boost: 1 })),
    ];
    const complete = (context) => {
      const word = context.matchBefore(/[\p{L}_][\p{L}\p{N}_-]*/u);
      return word && (word.text.length > 1 || context.explicit) ? { from: word.from, options: options() } : null;
    };
    const run = { key: "Mod-Enter", run: () => (latest.current.onRun(), true) };
    view.current = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: given.text,
        extensions: [
          Prec.highest(keymap.of([run])),
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
          history(), drawSelection(), bracketMatching(), EditorView.lineWrapping,
          autocompletion({ override: [complete], activateOnTyping: true, icons: false }),
          EditorView.cspNonce.of(document.querySelector("script[nonce]").nonce),
          language, syntaxHighlighting(colours), look,
          EditorView.contentAttributes.of({ "aria-label": "Query", "aria-describedby": "query-help query-problem" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    return () => view.current.destroy();
  }, []);

  useEffect(() => {
    const now = view.current.state.doc;
    if (given.text !== now.toString()) view.current.dispatch({ changes: { from: 0, to: now.length, insert: given.text } });
  }, [given]);

  useEffect(() => {
    const { state } = view.current;
    const at = (offset) => Math.min(codeUnits(state.doc.toString(), offset), state.doc.length);
    const found = problem?.start === undefined ? [] : [{ from: at(problem.start), to: at(problem.stop) }];
    const message = problem?.message;
    view.current.dispatch(setDiagnostics(state, found.map((span) => ({ ...span, severity: "error", message }))));
  }, [problem]);

  return html`<div class="editor" ref=${place}></div>`;
}

// The server counts characters, a browser counts UTF-16 units.
function codeUnits(text, characters) {
  return [...text].slice(0, characters).join("").length;
}
