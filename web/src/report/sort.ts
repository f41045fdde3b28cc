// Sorting: a click on a column's title sorts the rows within each group.

import { el } from "../ui/dom";

type Order = "ascending" | "descending" | null;
type Key = string | number;

const cell = (row: HTMLTableRowElement, at: number) => row.cells[at]!;
const keyOf = (row: HTMLTableRowElement, at: number): Key =>
  at ? Number(cell(row, at).dataset.v ?? NaN) : (cell(row, 0).textContent ?? "");
const unknown = (key: Key) => typeof key === "number" && Number.isNaN(key);

/** Unknown values come last in either order. */
export function compare(a: Key, b: Key, order: Order): number {
  if (unknown(a) || unknown(b)) return Number(unknown(a)) - Number(unknown(b));
  const up = typeof a === "string" ? a.localeCompare(String(b), "en", { numeric: true }) : a - Number(b);
  return order === "descending" ? -up : up;
}

export function sortable(table: HTMLTableElement): void {
  const titles = [...table.tHead!.rows[0]!.cells];
  const original = new Map(
    [...table.querySelectorAll<HTMLTableRowElement>("tbody tr")].map((row, i) => [row, i]),
  );
  const sort = (at: number, order: Order) => {
    for (const body of table.tBodies) {
      // The first row names the group.
      const rows = [...body.rows].slice(1);
      const by = (a: HTMLTableRowElement, b: HTMLTableRowElement) =>
        compare(keyOf(a, at), keyOf(b, at), order);
      rows.sort(order ? by : (a, b) => original.get(a)! - original.get(b)!);
      body.append(...rows);
    }
  };
  titles.forEach((title, at) => {
    const button = el("button", { type: "button" }, ...title.childNodes);
    title.append(button);
    // Numbers start with the largest, names with A; the third click restores the original order.
    const orders: Order[] = at ? ["descending", "ascending", null] : ["ascending", "descending", null];
    button.addEventListener("click", () => {
      const now = orders.indexOf(title.getAttribute("aria-sort") as Order);
      const order = orders[(now + 1) % orders.length]!;
      for (const other of titles) other.removeAttribute("aria-sort");
      if (order) title.setAttribute("aria-sort", order);
      sort(at, order);
    });
  });
}
