// The part of the page's address after `#`: what is simulated.

import type { Param, Params, Setting } from "./api";

const NAMES = ["machine", "workload", "governor", "baseline"] as const;
/** Parameters of the policy, whose names are not ours. */
const PARAM = "param.";

export function fromHash(hash: string, start: Setting): { setting: Setting; params: Params } {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const setting = { ...start };
  for (const name of NAMES) setting[name] = given.get(name) ?? start[name];
  const seed = Number(given.get("seed") ?? NaN);
  if (Number.isSafeInteger(seed) && seed >= 0) setting.seed = seed;
  const params: Params = {};
  for (const [key, text] of given) {
    const value = Number(text);
    if (key.startsWith(PARAM) && Number.isSafeInteger(value)) params[key.slice(PARAM.length)] = value;
  }
  return { setting, params };
}

export function toHash(setting: Setting, params: Params): string {
  const link = new URLSearchParams();
  for (const name of NAMES) link.set(name, setting[name]);
  link.set("seed", String(setting.seed));
  for (const [name, value] of Object.entries(params).sort()) link.set(PARAM + name, String(value));
  return `#${link}`;
}

/** Only parameters that the policy has, within their bounds, without those at their initial values. */
export function fitting(params: Params, known: readonly Param[]): Params {
  const kept: Params = {};
  for (const { name, min, max, initial } of known) {
    const value = params[name];
    if (value !== undefined && value !== initial && value >= min && value <= max) kept[name] = value;
  }
  return kept;
}
