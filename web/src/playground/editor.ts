// The editor of the policy's text.

import { defaultKeymap, history, historyKeymap, indentWithTab, toggleComment } from "@codemirror/commands";
import { completionKeymap } from "@codemirror/autocomplete";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import type { Found, Playground } from "./api";
import { assist } from "./assist";
import { ipanema } from "./language";

export class Editor {
  private readonly view: EditorView;
  /** The line ends of the file: the editor has \n only. */
  private readonly end: string;

  constructor(
    parent: HTMLElement,
    described: Playground,
    changed: () => void,
    save: () => void,
    format: () => void,
  ) {
    this.end = described.text.includes("\r\n") ? "\r\n" : "\n";
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: described.text.replaceAll("\r\n", "\n"),
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          highlightSelectionMatches(),
          bracketMatching(),
          indentOnInput(),
          indentUnit.of("    "),
          search({ top: true }),
          ipanema(described),
          assist,
          keymap.of([
            { key: "Mod-s", preventDefault: true, run: () => (save(), true) },
            { key: "Shift-Alt-f", preventDefault: true, run: () => (format(), true) },
            { key: "Mod-/", run: toggleComment },
            ...completionKeymap,
            indentWithTab,
            ...defaultKeymap,
            ...searchKeymap,
            ...historyKeymap,
            ...lintKeymap,
          ]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "Source of the policy", spellcheck: "false" }),
          EditorView.updateListener.of((update) => update.docChanged && changed()),
        ],
      }),
    });
  }

  /** The text as it is compiled. */
  get text(): string {
    return this.view.state.doc.toString();
  }

  /** The text as it is saved. */
  get file(): string {
    return this.end === "\n" ? this.text : this.text.replaceAll("\n", this.end);
  }

  /** Replaces the part of the text that differs, so that the cursor stays elsewhere. */
  replace(text: string): void {
    const old = this.text;
    let from = 0;
    while (from < Math.min(old.length, text.length) && old[from] === text[from]) from++;
    let kept = 0;
    const most = Math.min(old.length, text.length) - from;
    while (kept < most && old[old.length - 1 - kept] === text[text.length - 1 - kept]) kept++;
    if (old === text) return;
    const insert = text.slice(from, text.length - kept);
    this.view.dispatch({ changes: { from, to: old.length - kept, insert } });
  }

  /** Marks what the compiler found in the present text. */
  mark(found: readonly Found[]): void {
    const { length } = this.view.state.doc;
    const diagnostics = found.map((one): Diagnostic => {
      const from = Math.min(one.from, length);
      const message = one.help ? `${one.message}\nhelp: ${one.help}` : one.message;
      return {
        from,
        to: Math.min(Math.max(one.to, from), length),
        severity: one.severity,
        source: one.code,
        message,
      };
    });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  /** Puts the cursor at a place of the text. */
  go(at: number): void {
    const anchor = Math.min(at, this.view.state.doc.length);
    this.view.dispatch({
      selection: { anchor },
      effects: EditorView.scrollIntoView(anchor, { y: "center" }),
    });
    this.view.focus();
  }

  /** The place where a line begins; lines count from 1. */
  line(number: number): number {
    const { doc } = this.view.state;
    return doc.line(Math.min(Math.max(number, 1), doc.lines)).from;
  }
}
