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

type Kind = "violated" | "undecided" | "explored";

const kindOf = ({ violation, cut }: Question): Kind =>
  violation ? "violated" : cut > 0 ? "undecided" : "explored";

const SIGNS: Record<Kind, string> = { violated: "✕", undecided: "◔", explored: "✓" };

/** How many scenarios violate it, or else were explored to the end. */
const count = ({ violated, complete, scenarios }: Question): string =>
  `${violated || complete} of ${scenarios}`;

const scope = ({ questions, states, cores }: Verdict): string =>
  `${questions[0]?.scenarios ?? 0} scenarios of at most ${cores} cores, at most ${states} states of each`;

/** Explains the verdict: each question, its answer, and what the answer is about. */
function explain(found: Verdict): void {
  const dialog = byId<HTMLDialogElement>("about");
  const answers = found.questions.flatMap((question) => [
    el("dt", {}, `${SIGNS[kindOf(question)]} ${question.question}`),
    el("dd", {}, question.what, el("br"), `Here: ${sentence(question, found.states)}.`),
  ]);
  dialog.replaceChildren(
    el("h2", {}, "What the model checker says"),
    el(
      "p",
      {},
      `It tries every order of concurrent events in ${scope(found)}, under the parameters as they are.`,
    ),
    el("dl", {}, ...answers),
    el(
      "p",
      {},
      "✕ refutes: the schedule is a run in which it fails. ◔ decides nothing about the states that were not explored, and ✓ nothing about larger machines. ",
      "Only Prove gives a proof. The model has no frequencies, so the answer is the same under every governor.",
    ),
    button("Close", "Close (Esc)", () => dialog.close()),
  );
  dialog.showModal();
}

export function verdict(place: HTMLElement, found: Verdict): void {
  const { questions, states } = found;
  const line = (question: Question) => {
    const { violation } = question;
    const kind = kindOf(question);
    return el(
      "li",
      { class: kind, title: sentence(question, states) },
      el("i", { "aria-hidden": "true" }, SIGNS[kind]),
      el(
        "span",
        {},
        el("b", {}, question.question),
        " ",
        el("span", { class: "count" }, count(question)),
        violation ? " " : null,
        violation && button("schedule", violation.what, () => show(violation), { class: "link" }),
        el("br"),
        question.what,
      ),
    );
  };
  const list = el("ul", {}, ...questions.map(line));
  const key =
    "✕ violated, ◔ undecided, ✓ no violation; in how many scenarios it is violated, or all states were explored.";
  const about = button("Explain", "What the questions and the answers mean", () => explain(found), {
    class: "link",
    id: "explain",
  });
  place.replaceChildren(
    list,
    el("p", { class: "quiet" }, `${key} ${scope(found)}. This is not a proof. `, about),
  );
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
