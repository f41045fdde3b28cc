// Completion of a query in SQL: tables after FROM and JOIN, columns elsewhere.

/** A row of the table `columns`; that of a table has no column. */
export interface Column {
  table: string;
  column: string | null;
  type: string | null;
  unit: string | null;
  meaning: string;
}

export interface Word {
  word: string;
  note: string;
}

/** Words for the text from `from` to the caret. */
export interface Completion {
  from: number;
  words: Word[];
}

const MOST = 60;
/** Words that may follow a table and are no alias. */
const NO_ALIAS = new Set(
  "where join left right inner outer full cross natural asof positional on using group order limit window union having qualify select".split(
    " ",
  ),
);

const note = ({ type, unit, meaning }: Column): string =>
  [[type, unit].filter(Boolean).join(", "), meaning].filter(Boolean).join(" – ");

/** The query without what is in quotes and comments, at the same positions. */
const blank = (text: string): string =>
  text.replace(/'[^']*('|$)|--[^\n]*/g, (found) => " ".repeat(found.length));

/** The tables of a query, by their names and aliases. */
export function tablesOf(text: string): Map<string, string> {
  const found = new Map<string, string>();
  const words = blank(text.toLowerCase()).match(/[a-z_]\w*|[^\s\w]/g) ?? [];
  for (let at = 0; at < words.length; at++) {
    if (words[at] !== "from" && words[at] !== "join") continue;
    do {
      const table = words[++at];
      if (!table || !/^\w/.test(table)) break;
      found.set(table, table);
      if (words[at + 1] === "as") at++;
      const alias = words[at + 1];
      if (alias && /^\w/.test(alias) && !NO_ALIAS.has(alias)) found.set(words[++at]!, table);
    } while (words[at + 1] === "," && ++at);
  }
  return found;
}

/** Words that begin with what stands before the caret. */
export function complete(text: string, caret: number, columns: readonly Column[]): Completion {
  const before = text.slice(0, caret);
  const word = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
  const from = caret - word.length;
  // In an open string or comment nothing is completed.
  if (/'|--/.test(before.replace(/'[^']*'|--[^\n]*\n/g, " "))) return { from, words: [] };
  const rest = blank(before.slice(0, from));
  const tables = tablesOf(text.slice(0, from) + " " + text.slice(caret));
  const of = (wanted: ReadonlySet<string>) => columns.filter((one) => one.column && wanted.has(one.table));
  const qualifier = /([A-Za-z_]\w*)\.$/.exec(rest)?.[1]?.toLowerCase();
  let candidates: Column[];
  if (qualifier !== undefined) candidates = of(new Set([tables.get(qualifier) ?? qualifier]));
  else {
    const list = columns.filter((one) => !one.column);
    const wantsTable = /\b(from|join)\s+$/i.test(rest);
    candidates = wantsTable ? list : [...of(new Set(tables.values())), ...list];
  }
  const words = new Map<string, Word>();
  for (const one of candidates) {
    const name = one.column ?? one.table;
    if (name.startsWith(word.toLowerCase()) && name !== word && !words.has(name))
      words.set(name, { word: name, note: note(one) });
  }
  return { from, words: [...words.values()].slice(0, MOST) };
}
