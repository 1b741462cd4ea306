export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { StreamLanguage, HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
export { linter, lintKeymap, forceLinting } from "@codemirror/lint";
export { EditorState, Prec } from "@codemirror/state";
export { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
export { tags } from "@lezer/highlight";
