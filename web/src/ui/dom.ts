// DOM helpers. Text is inserted as text, never as HTML: traces are untrusted.

type Child = Node | string | null | false;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children) if (child !== null && child !== false) element.append(child);
  return element;
}

export function button(
  label: string,
  title: string,
  click: () => void,
  attributes: Record<string, string> = {},
): HTMLButtonElement {
  const element = el("button", { type: "button", title, ...attributes }, label);
  element.addEventListener("click", click);
  return element;
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** A list of terms and values. Entries without a value are left out. */
export function facts(list: readonly (readonly [string, Child])[]): HTMLElement {
  const dl = el("dl", { class: "facts" });
  for (const [term, value] of list)
    if (value !== null && value !== false && value !== "") dl.append(el("dt", {}, term), el("dd", {}, value));
  return dl;
}

export function typing(event: Event): boolean {
  const target = event.target as HTMLElement | null;
  return (
    !!target && (target.matches("input:not([type=checkbox]), select, textarea") || target.isContentEditable)
  );
}
