// What the editor asks the server while somebody types: completion, and the meaning of a name.

import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { hoverTooltip, type Tooltip } from "@codemirror/view";
import type { Extension } from "@codemirror/state";
import { el } from "../ui/dom";
import * as api from "./api";

/** Words begin with a letter; suggestions also come after a dot. */
const WORD = /[A-Za-z_]\w*$/;

async function suggest(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(WORD);
  const afterDot = context.matchBefore(/\.$/) !== null;
  if (!word && !afterDot && !context.explicit) return null;
  const stop = new AbortController();
  context.addEventListener("abort", () => stop.abort());
  const text = context.state.doc.toString();
  const found = await api.complete(text, context.pos, stop.signal).catch(() => []);
  const options = found.map(({ label, kind, detail, doc }) => ({
    label,
    type: kind,
    detail,
    ...(doc ? { info: () => el("div", { class: "word" }, ...pieces(doc)) } : {}),
  }));
  return options.length ? { from: word ? word.from : context.pos, options, validFor: /^\w*$/ } : null;
}

/** The little Markdown of documentation: code in fences and in backticks. */
export function parts(markdown: string): { code: boolean; text: string }[] {
  const split = markdown.split(/```\w*\n([\s\S]*?)\n```|`([^`\n]+)`/);
  return split.flatMap((text, i) => (text ? [{ code: i % 3 !== 0, text }] : []));
}

function pieces(markdown: string): (Node | string)[] {
  return parts(markdown).map(({ code, text }) => (code ? el("code", {}, text) : text));
}

const hover = hoverTooltip(async (view, at): Promise<Tooltip | null> => {
  if (!view.state.wordAt(at)) return null;
  const found = await api.meaning(view.state.doc.toString(), at).catch(() => null);
  if (!found) return null;
  const create = () => ({ dom: el("div", { class: "word" }, ...pieces(found.text)) });
  return { pos: found.from, end: found.to, create };
});

export const assist: Extension = [autocompletion({ override: [suggest], icons: false }), hover];
