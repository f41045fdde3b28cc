// The script of the report page. The tables and charts are static HTML; this draws the traces and
// sorts the table. The page is one file and loads nothing.

import { el } from "../ui/dom";
import { sortable } from "./sort";
import { TraceGroup } from "./traces";

for (const table of document.querySelectorAll<HTMLTableElement>(".numbers")) sortable(table);

const tip = el("div", { class: "tip", role: "tooltip", hidden: "" });
document.body.append(tip);

/** A group is decoded and drawn when it is first opened. */
const groups = new Map<HTMLDetailsElement, TraceGroup>();
for (const details of document.querySelectorAll<HTMLDetailsElement>(".setting")) {
  const open = () => {
    if (details.open && !groups.has(details)) groups.set(details, new TraceGroup(details, tip));
  };
  details.addEventListener("toggle", open);
  open();
}
addEventListener("beforeprint", () => groups.forEach((group) => group.draw(true)));
addEventListener("afterprint", () => groups.forEach((group) => group.draw()));
