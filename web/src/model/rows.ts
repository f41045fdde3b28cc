// Where a row of a query's answer is in the picture.

/** A place in a trace; what the row does not say is `null`. */
export interface Place {
  from: number | null;
  to: number | null;
  thread: number | null;
  core: number | null;
}

/** Names of columns, best first. They are those of the book's tables; `tid` is no number of the trace. */
const FROM = ["start", "woken", "time"];
const TO = ["stop", "ran"];
const THREAD = ["thread", "next", "child"];
const CORE = ["on_core", "core", "to_core", "target"];

/** `null`: the row says neither a time nor a thread. */
export function placeOf(columns: readonly string[], row: readonly unknown[]): Place | null {
  const value = (names: readonly string[]): number | null => {
    for (const name of names) {
      const found = row[columns.indexOf(name)];
      if (typeof found === "number" && Number.isInteger(found) && found >= 0) return found;
    }
    return null;
  };
  const [from, thread] = [value(FROM), value(THREAD)];
  const long = value(["duration", "latency"]);
  const to = value(TO) ?? (from !== null && long !== null ? from + long : null);
  // Thread 0 is the idle thread.
  if (from === null && !thread) return null;
  return { from, to, thread: thread || null, core: value(CORE) };
}

/** A value as the text of a cell. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
