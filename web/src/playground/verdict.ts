// What is decided about the policy. Only a prover's answer is called a proof.

import { button, byId, el } from "../ui/dom";
import type { Proved, Question, Verdict, Violation } from "./api";

/** The sentence about one question, which says what was not explored. */
export function sentence(question: Question, states: number): string {
  const { scenarios, complete, cut, vacuous, violated } = question;
  if (violated > 0) return `violated in ${violated} of ${scenarios} scenarios`;
  const whole =
    cut === 0 ? `in all states of ${scenarios} scenarios` : `in all states of ${complete} scenarios`;
  const rest = cut === 0 ? "" : `, nor in the first ${states} of ${cut} others`;
  const short = vacuous === 0 ? "" : `; ${vacuous} are too short for waiting`;
  return `no violation ${whole}${rest}${short}`;
}

function show(violation: Violation): void {
  const dialog = byId<HTMLDialogElement>("schedule");
  const close = button("Close", "Close (Esc)", () => dialog.close());
  const title = `${violation.property}, after ${violation.steps} steps on ${violation.scenario}`;
  dialog.replaceChildren(el("h2", {}, title), el("pre", { tabindex: "0" }, violation.schedule), close);
  dialog.showModal();
}

export function verdict(place: HTMLElement, { questions, states, cores }: Verdict): void {
  const line = (question: Question) => {
    const { violation } = question;
    const kind = violation ? "violated" : question.cut > 0 ? "undecided" : "explored";
    const sign = { violated: "✕", undecided: "◔", explored: "✓" }[kind];
    return el(
      "li",
      { class: kind },
      el("i", { "aria-hidden": "true" }, sign),
      el(
        "span",
        {},
        el("b", {}, question.question),
        el("br"),
        sentence(question, states),
        violation ? " " : null,
        violation && button("show the schedule", violation.what, () => show(violation), { class: "link" }),
      ),
    );
  };
  const list = el("ul", {}, ...questions.map(line));
  const bound = `Model checker, ${questions[0]?.scenarios ?? 0} scenarios with at most ${cores} cores, ${states} states of each, the parameters as they are. This is not a proof.`;
  place.replaceChildren(list, el("p", { class: "quiet" }, bound));
}

/** The answer of the provers. `go` shows a line of the text. */
export function proof(place: HTMLElement, found: Proved, go: (line: number) => void): void {
  const counts = found.properties.map(({ property, hold, all }) =>
    el(
      "li",
      { class: hold === all ? "explored" : "undecided" },
      `${property}: ${hold} of ${all} obligations hold`,
    ),
  );
  const title = found.proved
    ? "Proved: all obligations of `hearth prove` hold, for any number of cores."
    : found.refuted
      ? `Not proved, and refuted: ${found.refuted.property} on ${found.refuted.scenario}.`
      : "Not proved. An open obligation may still hold.";
  const open = found.open.map((one) => {
    const text = `${one.property}: ${one.obligation}: ${one.verdict}`;
    return el(
      "li",
      {},
      one.line ? button(text, "Show the line", () => go(one.line), { class: "link" }) : text,
    );
  });
  place.replaceChildren(
    el("p", { class: found.proved ? "proved" : "open" }, title),
    el("ul", {}, ...counts),
    ...(open.length
      ? [el("details", {}, el("summary", {}, `${open.length} open`), el("ul", {}, ...open))]
      : []),
  );
  place.scrollIntoView({ block: "end" });
}
