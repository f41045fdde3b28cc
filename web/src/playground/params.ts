// Sliders for the policy's parameters, within their bounds.

import { UNITS } from "../model/time";
import { el } from "../ui/dom";
import type { Param, Params } from "./api";
import { digits } from "./numbers";

const FREQUENCIES: typeof UNITS = [
  [1e6, "GHz"],
  [1e3, "MHz"],
  [1, "kHz"],
];

/** A value as people write it. */
export function shown(value: number, unit: Param["unit"]): string {
  if (unit === "bool") return value ? "true" : "false";
  const scale = unit === "time" ? UNITS : unit === "frequency" ? FREQUENCIES : null;
  if (!scale) return String(value);
  const [factor, name] = scale.find(([factor]) => Math.abs(value) >= factor) ?? scale[scale.length - 1]!;
  return `${Number(digits(value / factor))} ${name}`;
}

/** Steps of a slider. */
const STEPS = 200;
/** A range of more than this ratio has a logarithmic slider. */
const WIDE = 1000;

/** The value at a step of the slider, and back. */
export function scaleOf({ min, max, initial }: Param): {
  at(step: number): number;
  step(value: number): number;
  steps: number;
} {
  const width = max - min;
  if (width <= STEPS) return { at: (step) => min + step, step: (value) => value - min, steps: width };
  const log = width > WIDE && initial - min < width / 20;
  const at = (step: number) => {
    if (step <= 0) return min;
    if (step >= STEPS) return max;
    return min + Math.round(log ? width ** (step / STEPS) : (width * step) / STEPS);
  };
  const step = (value: number) => {
    const above = Math.max(value - min, 0);
    if (above === 0) return 0;
    return Math.round(log ? (STEPS * Math.log(above)) / Math.log(width) : (STEPS * above) / width);
  };
  return { at, step, steps: STEPS };
}

export function sliders(
  place: HTMLElement,
  known: readonly Param[],
  params: Params,
  changed: (name: string, value: number) => void,
): void {
  const line = (param: Param) => {
    const value = params[param.name] ?? param.initial;
    const scale = scaleOf(param);
    const bounds = `${shown(param.min, param.unit)} to ${shown(param.max, param.unit)}, initially ${shown(param.initial, param.unit)}`;
    const slider = el("input", {
      type: "range",
      min: "0",
      max: String(scale.steps),
      value: String(scale.step(value)),
      "aria-label": param.name,
      "aria-valuetext": shown(value, param.unit),
      "data-param": param.name,
    });
    const output = el("output", {}, shown(value, param.unit));
    const set = (value: number) => {
      output.textContent = shown(value, param.unit);
      slider.setAttribute("aria-valuetext", output.textContent);
      changed(param.name, value);
    };
    slider.addEventListener("input", () => set(scale.at(Number(slider.value))));
    const reset = () => {
      slider.value = String(scale.step(param.initial));
      set(param.initial);
    };
    slider.addEventListener("dblclick", reset);
    const title = `${param.doc ? `${param.doc}\n` : ""}${bounds}; a double click resets it`;
    return el("label", { title }, el("span", {}, param.name), slider, output);
  };
  place.replaceChildren(...known.map(line));
}
