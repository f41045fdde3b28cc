// Ipanema in the editor. Its words come from the compiler, with the page.

import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StringStream } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import type { Playground } from "./api";

interface State {
  /** Within a comment of several lines. */
  comment: boolean;
  /** After a dot, where keywords are names. */
  member: boolean;
  /** The word before, which says what a name is. */
  before: string;
}

const NAMED: Record<string, string> = {
  policy: "typeName",
  extends: "typeName",
  on: "labelName",
  because: "string",
};

/** The kind of the next token. Exported for its test. */
export function tokenizer(keywords: ReadonlySet<string>, library: ReadonlySet<string>) {
  return (stream: StringStream, state: State): string | null => {
    if (state.comment) {
      state.comment = !stream.match(/.*?\*\//);
      if (state.comment) stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      const doc = stream.match(/\/(?!\/)/) !== null;
      stream.skipToEnd();
      return doc ? "docComment" : "comment";
    }
    if (stream.match("/*")) {
      state.comment = true;
      return "comment";
    }
    const { member, before } = state;
    state.member = false;
    state.before = "";
    const word = stream.match(/[A-Za-z_]\w*/) as RegExpMatchArray | null;
    if (word) {
      const [text] = word;
      if (NAMED[before]) {
        stream.match(/(?:[-+]\w+)+/);
        return NAMED[before];
      }
      if (!member && keywords.has(text)) {
        state.before = text;
        return text === "true" || text === "false" || text === "none" ? "bool" : "keyword";
      }
      if (stream.match(/\s*\(/, false)) return "function";
      return member ? "propertyName" : library.has(text) ? "standard" : "variableName";
    }
    if (stream.match(/\d+(?:\.\d+)?[A-Za-z]*/)) return "number";
    if (stream.match("=>")) return "definitionOperator";
    if (stream.match("..")) return "operator";
    state.member = stream.next() === ".";
    return /[-+*\/%&|!<>=?:]/.test(stream.current()) ? "operator" : null;
  };
}

/** Colours are custom properties of the page's style sheet, so that they follow the theme. */
const STYLE = HighlightStyle.define([
  { tag: [tags.comment, tags.docComment], color: "var(--quiet)", fontStyle: "italic" },
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.bool, tags.number, tags.string], color: "var(--worse)" },
  { tag: [tags.typeName, tags.labelName, tags.definitionOperator], fontWeight: "700" },
  { tag: [tags.function(tags.variableName), tags.standard(tags.variableName)], color: "var(--better)" },
]);

export function ipanema({ keywords, library }: Pick<Playground, "keywords" | "library">): Extension {
  const words = new Set(library.map(({ name }) => name));
  const language = StreamLanguage.define<State>({
    name: "ipanema",
    startState: () => ({ comment: false, member: false, before: "" }),
    copyState: (state) => ({ ...state }),
    token: tokenizer(new Set(keywords), words),
    languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
    tokenTable: {
      function: tags.function(tags.variableName),
      standard: tags.standard(tags.variableName),
    },
  });
  return [language, syntaxHighlighting(STYLE)];
}
