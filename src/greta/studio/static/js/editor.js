// The query editor: CodeMirror with greta's words, errors underlined where they are. A completion is
// taken with Tab, or with Enter after an arrow key has chosen it; any other Enter is a new line.
import {
  EditorState, EditorView, HighlightStyle, Prec, StreamLanguage, acceptCompletion, autocompletion, bracketMatching,
  closeCompletion, completionStatus, defaultKeymap, drawSelection, history, historyKeymap, keymap, moveCompletionSelection,
  selectedCompletion, setDiagnostics, startCompletion, syntaxHighlighting, tags,
} from "../vendor/codemirror.js";
import { html, useEffect, useRef } from "../vendor/preact.js";
import { completions } from "./completion.js";

const KEYWORD = /^(?:RETURN|PATTERN|SEMANTICS|MAXIMAL|MIN\s+LENGTH|WHERE|GROUP(?:\s*-\s*|\s+)BY|HAVING|WITHIN|SLIDE|SEQ|NOT|AND|OR|AS|NEXT)\b/i;
const RULES = [
  [/^--.*/, "comment"],
  [/^'(?:[^']|'')*'?/, "string"],
  [/^"(?:[^"]|"")*"?/, "variableName"],
  [/^(?:skip-till-(?:any|next)-match|contiguous|TRUE|FALSE)\b/i, "atom"],
  [KEYWORD, "keyword"],
  [/^(?:COUNT|MIN|MAX|SUM|AVG|STDDEV|FIRST|LAST|DURATION|LOG2|LOG10|LN|SQRT|ABS)(?=\s*\()/i, "function"],
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
  ".cm-tooltip": { backgroundColor: "var(--panel)", border: "1px solid var(--line)", color: "var(--ink)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "1em" },
  "li[aria-selected] .cm-completionDetail": { color: "var(--on-accent)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--negative)" },
  ".cm-lintRange-error": {
    backgroundImage: "none", textDecoration: "underline wavy var(--negative)", textUnderlineOffset: "4px",
  },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
});

// Keys of the list of completions. Whoever types on has not chosen: only an arrow key right before lets Enter take one.
function completionKeys() {
  let arrowed = false;
  const move = (forward) => (view) => {
    const moved = moveCompletionSelection(forward)(view);
    arrowed = moved;
    return moved;
  };
  const keys = keymap.of([
    { key: "Ctrl-Space", run: startCompletion },
    { key: "Escape", run: closeCompletion },
    { key: "ArrowDown", run: move(true) },
    { key: "ArrowUp", run: move(false) },
    { key: "Enter", run: (view) => arrowed && selectedCompletion(view.state) !== null && acceptCompletion(view) },
    {
      key: "Tab",
      run: (view) => {
        if (completionStatus(view.state) !== "active") return false;
        if (!selectedCompletion(view.state)) moveCompletionSelection(true)(view);
        return acceptCompletion(view);
      },
    },
  ]);
  const forget = EditorView.updateListener.of((update) => { if (update.docChanged) arrowed = false; });
  return [Prec.highest(keys), forget];
}

// `given` is a text put into the editor from outside, as an object of its own each time: what people type only
// goes out, and never comes back to overwrite what they typed meanwhile.
export function Editor({ given, problem, attributes, types, onChange, onRun }) {
  const place = useRef(), view = useRef(), latest = useRef({});
  latest.current = { onChange, onRun, attributes, types };

  useEffect(() => {
    const complete = (context) => {
      const whole = context.state.doc.toString();
      const found = completions(whole.slice(0, context.pos), whole, latest.current, context.explicit);
      return found && { ...found, validFor: /^[\p{L}\p{N}_-]*$/u };
    };
    const run = { key: "Mod-Enter", run: () => (latest.current.onRun(), true) };
    view.current = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: given.text,
        extensions: [
          Prec.highest(keymap.of([run])),
          completionKeys(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          history(), drawSelection(), bracketMatching(), EditorView.lineWrapping,
          autocompletion({ override: [complete], defaultKeymap: false, selectOnOpen: false, interactionDelay: 0, icons: false }),
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
