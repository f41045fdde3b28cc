// What was measured, as a table.

import type { Step } from "./measure";

export interface Result {
  traces: { name: string; events: number; cores: number }[];
  /** Until `hearth view` printed its address. */
  opened: number | null;
  first: number[];
  complete: number[];
  steps: Step[];
  /** Bytes: of JavaScript and its buffers, of the page's process, of the server. */
  page: number;
  renderer: number;
  server: number | null;
}

/** The value below which a share of the others lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

const ms = (value: number) => (value < 10 ? value.toFixed(1) : value.toFixed(0));

function row(name: string, values: readonly number[]): string {
  return `| ${name} | ${[0.5, 0.95, 1].map((share) => ms(quantile(values, share))).join(" | ")} | ${values.length} |`;
}

const mib = (bytes: number) => `${(bytes / (1 << 20)).toFixed(0)} MiB`;

export function table(result: Result): string {
  const { steps } = result;
  // What an earlier look ahead has brought has no bytes left to come.
  const asked = steps.filter((step) => step.bytes > 0);
  const of = (some: readonly Step[], field: Exclude<keyof Step, "kind">) => some.map((step) => step[field]);
  const lines = result.traces.map(
    (trace) => `${trace.name}: ${trace.events.toLocaleString("en")} events, ${trace.cores} cores`,
  );
  lines.push("", "| ms | median | p95 | max | n |", "|---|--:|--:|--:|--:|");
  if (result.opened !== null) lines.push(row("opened: the address is printed", [result.opened]));
  lines.push(row("first picture", result.first), row("complete", result.complete));
  lines.push(row("redraw", of(steps, "redraw")), row("sharp: all in sight has come", of(steps, "sharp")));
  for (const kind of ["in", "out", "move"] as const) {
    const some = steps.filter((step) => step.kind === kind);
    lines.push(row(`redraw, ${kind}`, of(some, "redraw")), row(`sharp, ${kind}`, of(some, "sharp")));
  }
  lines.push(row("drawing, the slowest of a step", of(steps, "draw")));
  lines.push(row("sharp, where something had to come", of(asked, "sharp")));
  lines.push(row("CPU time of the page's process", of(asked, "pageCpu")));
  if (result.server !== null) lines.push(row("CPU time of the server", of(asked, "serverCpu")));
  lines.push(row("an answer, the slowest of a step", of(asked, "answer")));
  lines.push(row("of that, the server's work", of(asked, "work")));
  lines.push(
    "",
    `page: ${mib(result.page)} of JavaScript and buffers after collection; its process at most ${mib(result.renderer)}`,
  );
  if (result.server !== null) lines.push(`server: at most ${mib(result.server)}`);
  return lines.join("\n");
}
