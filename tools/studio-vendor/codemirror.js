// The parts of CodeMirror that the query editor uses, as one module.
export { acceptCompletion, autocompletion, closeCompletion, completionStatus, moveCompletionSelection, selectedCompletion, startCompletion } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
export { setDiagnostics } from "@codemirror/lint";
export { EditorState, Prec } from "@codemirror/state";
export { EditorView, drawSelection, keymap } from "@codemirror/view";
export { tags } from "@lezer/highlight";
