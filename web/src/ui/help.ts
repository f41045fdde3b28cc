// The list of keys (`?`).

import { button, el } from "./dom";

const KEYS: [string[], string][] = [
  [["W", "S"], "zoom in, out"],
  [["A", "D"], "move left, right"],
  [["↑", "↓"], "scroll the rows"],
  [["0"], "the whole run"],
  [["Ctrl", "wheel"], "zoom at the pointer"],
  [["Shift", "wheel"], "move left, right"],
  [["wheel"], "scroll; zoom, if all rows fit"],
  [["drag"], "mark an area"],
  [["Shift", "drag"], "move the picture"],
  [["double click"], "zoom in at the pointer"],
  [["click"], "select the thread"],
  [[",", "."], "its previous, next slice"],
  [["l", "o"], "next long wake-up, overload"],
  [["Shift", "l o"], "previous long wake-up, overload"],
  [["p"], "pin the selected thread's track, or remove it"],
  [["e"], "events of the selection, one by one"],
  [["f"], "fit the selected slice or the area"],
  [["m"], "mark the selected slice, or the window"],
  [["/"], "search threads"],
  [["q"], "query in SQL"],
  [["Esc"], "selection, then area: none"],
  [["C"], "next colour"],
  [["?"], "this list"],
];

export function help(dialog: HTMLDialogElement): void {
  const list = el("dl", { class: "keys" });
  for (const [keys, what] of KEYS)
    list.append(
      el("dt", {}, ...keys.flatMap((key, i) => [i ? " " : "", el("kbd", {}, key)])),
      el("dd", {}, what),
    );
  const close = button("Close", "Close (Esc)", () => dialog.close());
  close.style.marginTop = "14px";
  dialog.replaceChildren(el("h2", {}, "Keys and mouse"), list, close);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}
