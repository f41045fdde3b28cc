// The requests of the playground. Addresses are relative: the page's URL holds the token.

import { ask as request } from "../data/api";

export interface Playground {
  name: string;
  /** `null`: a copy of a built-in policy that is not saved. */
  path: string | null;
  text: string;
  digest: string;
  machines: string[];
  workloads: { name: string; what: string }[];
  governors: string[];
  /** Machines whose kernel requests no frequencies. */
  ungoverned: string[];
  baselines: string[];
  start: Setting;
  keywords: string[];
  library: { name: string; usage: string; doc: string }[];
  prover: { ready: boolean; why: string | null; help: string | null };
}

/** What is simulated, besides the text. */
export interface Setting {
  machine: string;
  workload: string;
  governor: string;
  seed: number;
  baseline: string;
}

export type Params = Record<string, number>;

export interface Found {
  from: number;
  to: number;
  line: number;
  column: number;
  severity: "error" | "warning";
  code: string;
  message: string;
  help: string | null;
}

export interface Param {
  name: string;
  doc: string;
  unit: "bool" | "int" | "time" | "frequency" | "load";
  min: number;
  max: number;
  initial: number;
}

/** A word that may stand at a place. */
export interface Suggestion {
  label: string;
  kind: string;
  detail: string;
  doc: string;
}

/** What a name means, in Markdown. */
export interface Meaning {
  from: number;
  to: number;
  text: string;
}

export interface Checked {
  policy: string | null;
  diagnostics: Found[];
  params: Param[];
}

export interface Row {
  policy: string;
  time_s: number;
  energy_j: number;
  wakeup_mean_us: number;
  underload_per_s: number;
  overload_core_ms: number;
  cores_used: number;
  busy_ghz_mean: number | null;
  migrations: number;
  placements: Record<string, number>;
  trace_hash: string;
}

export interface Simulated extends Setting {
  run: string;
  rows: [Row, Row];
  speedup: number;
  energy_saving: number;
}

export interface Violation {
  scenario: string;
  property: string;
  what: string;
  steps: number;
  schedule: string;
}

export interface Question {
  question: string;
  /** What has to hold. */
  what: string;
  violation: Violation | null;
  scenarios: number;
  complete: number;
  cut: number;
  vacuous: number;
  violated: number;
}

export interface Verdict {
  /** The bound: states of each scenario, and cores of the largest one. */
  states: number;
  cores: number;
  questions: Question[];
}

export interface Proved {
  proved: boolean;
  refuted: Violation | null;
  properties: { property: string; hold: number; all: number }[];
  open: { property: string; obligation: string; line: number; verdict: string }[];
}

export interface Saved {
  name: string;
  path: string;
  digest: string;
}

/** The server tells the pages apart by this, to stop what a page no longer waits for. */
const page = crypto.randomUUID();

async function ask<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const send = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  const restart = "Save your text elsewhere, start it again and open its address";
  return (await (await request(path, { ...send, headers, signal }, restart)).json()) as T;
}

export const playground = () => ask<Playground>("api/playground");

export const check = (text: string, signal: AbortSignal) => ask<Checked>("api/check", { text }, signal);

export const complete = (text: string, at: number, signal: AbortSignal) =>
  ask<Suggestion[]>("api/complete", { text, at }, signal);

export const meaning = (text: string, at: number) => ask<Meaning | null>("api/meaning", { text, at });

export const format = (text: string) => ask<{ text: string }>("api/format", { text });

export const simulate = (setting: Setting, params: Params, text: string, signal: AbortSignal) =>
  ask<Simulated>("api/simulate", { page, text, params, ...setting }, signal);

export const verdict = (text: string, params: Params, signal: AbortSignal) =>
  ask<Verdict>("api/verdict", { page, text, params }, signal);

export const prove = (text: string, signal: AbortSignal) => ask<Proved>("api/prove", { page, text }, signal);

export const progress = () => ask<{ done: number; of: number } | null>(`api/progress?page=${page}`);

export const save = (text: string, digest: string, name: string | null) =>
  ask<Saved>("api/save", { text, digest, name });
