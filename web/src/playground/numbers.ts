// The numbers of the two runs, side by side.

import { el } from "../ui/dom";
import type { Row, Simulated } from "./api";

/** Three significant digits. */
export function digits(value: number): string {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(Math.max(2 - size, 0), 6));
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const text = (share * 100).toFixed(1);
  return text === "-0.0" || text === "0.0" ? "same" : `${share > 0 ? "+" : "−"}${text.replace("-", "")} %`;
}

type Line = [name: string, title: string, value: (row: Row) => number | null];

const LINES: Line[] = [
  ["wake-up, µs", "Mean time from the wake-up of a thread until it runs", (row) => row.wakeup_mean_us],
  [
    "underload per s",
    "More cores used than threads runnable, in intervals of 4 ms",
    (row) => row.underload_per_s,
  ],
  ["overload, core·ms", "Time of threads that wait while a core is idle", (row) => row.overload_core_ms],
  ["cores used", "Cores on which the workload ran", (row) => row.cores_used],
  ["busy GHz", "Mean frequency of busy cores", (row) => row.busy_ghz_mean],
  ["migrations", "Times that a thread ran on another core than before", (row) => row.migrations],
];

const better = (share: number) => (Math.abs(share) < 0.0005 ? "" : share > 0 ? "better" : "worse");

/** The placements of a run by reason, most frequent first. */
function placements(row: Row): string {
  const all = Object.values(row.placements).reduce((sum, count) => sum + count, 0);
  const shares = Object.entries(row.placements)
    .filter(([, count]) => count > 0)
    .sort(([a, m], [b, n]) => n - m || a.localeCompare(b))
    .map(([reason, count]) => `${reason} ${Math.round((100 * count) / all)}%`);
  return shares.join(", ") || "none";
}

/** `5.3 % faster, 2.0 % more energy`: the policy beside the baseline, in one run. */
export function comparison({ speedup, energy_saving }: Simulated): string {
  const of = (share: number, more: string, less: string, same: string) => {
    const text = `${Math.abs(100 * share).toFixed(1)} %`;
    return text === "0.0 %" ? same : `${text} ${share > 0 ? more : less}`;
  };
  const parts = [of(speedup, "faster", "slower", "equally fast")];
  if (Number.isFinite(energy_saving) && energy_saving !== null)
    parts.push(of(energy_saving, "less energy", "more energy", "the same energy"));
  return parts.join(", ");
}

/** What the numbers are of, as the server says it: the page's setting may be newer. */
function settingText({ workload, machine, governor, seed }: Simulated, ungoverned: boolean): string {
  return `${workload} on ${machine}, ${ungoverned ? "no governor" : governor}, seed ${seed}`;
}

/** Shows the answer of a simulation. `ungoverned`: its machine has no governor. */
export function numbers(place: HTMLElement, found: Simulated, ungoverned: boolean): void {
  const { rows, speedup, energy_saving } = found;
  const [mine, theirs] = rows;
  const value = (number: number | null) => el("td", {}, number === null ? "–" : digits(number));
  const change = (share: number) => el("td", { class: better(share) }, percent(share));
  const line = (name: string, title: string, of: (row: Row) => number | null, share?: number) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", title }, name),
      value(of(mine)),
      value(of(theirs)),
      share === undefined ? el("td") : change(share),
    );
  const body = el(
    "tbody",
    {},
    line(
      "time, s",
      "From the start of the workload to its last exit; more: faster",
      (row) => row.time_s,
      speedup,
    ),
    line("energy, J", "Of the whole machine; more: saved", (row) => row.energy_j, energy_saving),
    ...LINES.map(([name, title, of]) => line(name, title, of)),
  );
  const head = (...names: string[]) =>
    el("tr", {}, ...names.map((name) => el("th", { scope: "col", title: name }, name)));
  const table = el("table", {}, el("thead", {}, head("", mine.policy, theirs.policy, "gain")), body);
  const reasons = [mine, theirs].map((row) => {
    const text = `${row.policy}: ${placements(row)}`;
    return el(
      "p",
      { class: "reasons", title: `Placements by reason. ${text}` },
      el("b", {}, row.policy),
      ` ${placements(row)}`,
    );
  });
  place.replaceChildren(
    el("p", { class: "comparison" }, `Beside ${theirs.policy}: `, el("b", {}, comparison(found))),
    el(
      "p",
      { class: "setting", title: "One run of each; `hearth sim --runs` gives intervals" },
      settingText(found, ungoverned),
    ),
    table,
    ...reasons,
  );
}
