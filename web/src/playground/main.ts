// The playground: a policy's text beside its simulation and its verdict.

import { errorText as why } from "../data/api";
import { button, byId, el } from "../ui/dom";
import * as api from "./api";
import type { Checked, Params, Playground, Setting } from "./api";
import { Editor } from "./editor";
import { fitting, fromHash, toHash } from "./link";
import { numbers } from "./numbers";
import { sliders } from "./params";
import { Picture } from "./picture";
import { proof, verdict } from "./verdict";

/** The text is compiled after this many ms without a key, and simulated when it is sound. */
const PAUSE = 250;

class Page {
  private setting: Setting;
  /** Values other than the initial ones. */
  private params: Params;
  private checked: Checked | null = null;
  private readonly editor: Editor;
  private readonly picture = new Picture(byId("picture"));
  private digest: string;
  private path: string | null;
  /** The text on disk. */
  private saved: string;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Aborts what belongs to an older text or setting. */
  private work = new AbortController();
  private proving = new AbortController();

  constructor(private readonly described: Playground) {
    ({ setting: this.setting, params: this.params } = fromHash(location.hash, described.start));
    [this.digest, this.path] = [described.digest, described.path];
    const changed = () => this.changed();
    this.editor = new Editor(
      byId("editor"),
      described,
      changed,
      () => void this.save(),
      () => void this.format(),
    );
    this.saved = this.editor.file;
    this.toolbar();
    this.prover();
    window.addEventListener("hashchange", () => this.readHash());
    window.addEventListener("beforeunload", (event) => {
      if (this.dirty) event.preventDefault();
    });
    window.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key !== "s" || event.defaultPrevented) return;
      event.preventDefault();
      void this.save();
    });
    this.title();
    void this.renew();
  }

  private get dirty(): boolean {
    return (
      this.editor.file !== this.saved || (this.path === null && this.editor.text !== this.described.text)
    );
  }

  // ---- the bar ----------------------------------------------------------------------------------

  private toolbar(): void {
    const { machines, governors, baselines } = this.described;
    const select = (name: "machine" | "governor" | "baseline", label: string, all: string[]) => {
      const box = el("select", { id: name }, ...all.map((one) => el("option", { value: one }, one)));
      box.addEventListener("change", () => this.set({ [name]: box.value }));
      return el("label", {}, label, box);
    };
    const input = (name: "workload" | "seed", label: string, attributes: Record<string, string>) => {
      const box = el("input", { id: name, autocomplete: "off", spellcheck: "false", ...attributes });
      box.addEventListener("change", () => {
        if (!box.reportValidity()) return;
        this.set(name === "seed" ? { seed: Number(box.value) } : { workload: box.value.trim() });
      });
      return el("label", {}, label, box);
    };
    const known = this.described.workloads.map(({ name, what }) => el("option", { value: name }, what));
    const open = button("↗", "Open the picture in the viewer, in a tab of its own", () => {
      if (this.picture.address) window.open(this.picture.address, "_blank", "noopener");
    });
    open.setAttribute("aria-label", "Open the picture in a tab");
    byId("bar").append(
      el("span", { class: "name" }, el("i", { "aria-hidden": "true" }), "Hearth"),
      el("span", { id: "file" }),
      button("Save", "Save the policy (Ctrl-S)", () => void this.save(), { id: "save" }),
      button("Format", "Format the text (Shift-Alt-F)", () => void this.format(), { id: "format" }),
      el("span", { class: "space" }),
      input("workload", "Workload", { list: "workloads", required: "", maxlength: "200" }),
      el("datalist", { id: "workloads" }, ...known),
      select("machine", "Machine", machines),
      select("governor", "Governor", governors),
      select("baseline", "Baseline", baselines),
      input("seed", "Seed", { type: "number", min: "0", max: "9007199254740991", step: "1", required: "" }),
      open,
    );
    this.sync();
  }

  /** Shows the setting in the bar. */
  private sync(): void {
    for (const name of ["machine", "governor", "baseline", "workload", "seed"] as const) {
      const box = byId<HTMLInputElement | HTMLSelectElement>(name);
      box.value = String(this.setting[name]);
    }
    const { ungoverned } = this;
    byId("governor").toggleAttribute("disabled", ungoverned);
    byId("governor").title = ungoverned ? "The kernel of this machine requests no frequencies" : "";
  }

  private get ungoverned(): boolean {
    return this.described.ungoverned.includes(this.setting.machine);
  }

  private title(): void {
    const { dirty } = this;
    const name =
      this.path === null
        ? `${this.described.name.replace(/\.ipa$/, "")} (copy)`
        : this.path.split("/").pop()!;
    byId("file").textContent = dirty ? `${name} •` : name;
    byId("file").title = this.path ?? "A copy of a built-in policy: it is saved once you name it";
    byId("save").toggleAttribute("disabled", !dirty && this.path !== null);
    document.title = `${dirty ? "• " : ""}${name} – Hearth`;
  }

  private set(patch: Partial<Setting>): void {
    this.setting = { ...this.setting, ...patch };
    this.sync();
    this.writeHash();
    void this.simulate(this.next());
  }

  private readHash(): void {
    ({ setting: this.setting, params: this.params } = fromHash(location.hash, this.described.start));
    this.sync();
    void this.renew();
  }

  private writeHash(): void {
    history.replaceState(null, "", toHash(this.setting, this.params));
  }

  // ---- the text ---------------------------------------------------------------------------------

  private changed(): void {
    this.title();
    this.next();
    this.unproved();
    this.note("");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.renew(), PAUSE);
  }

  /** Aborts older work, and returns the signal of what follows. */
  private next(): AbortSignal {
    this.work.abort();
    delete document.documentElement.dataset.run;
    this.work = new AbortController();
    return this.work.signal;
  }

  /** Compiles the text; if it is sound, simulates and explores it. */
  private async renew(): Promise<void> {
    clearTimeout(this.timer);
    const signal = this.next();
    document.documentElement.dataset.state = "loading";
    try {
      this.checked = await api.check(this.editor.text, signal);
    } catch (error) {
      this.failed(error, signal);
      return;
    }
    this.editor.mark(this.checked.diagnostics);
    this.problems(this.checked);
    if (this.checked.policy === null) return this.broken();
    this.params = fitting(this.params, this.checked.params);
    this.writeHash();
    this.sliders(this.checked);
    await this.simulate(signal);
  }

  private problems({ diagnostics }: Checked): void {
    const list = byId("problems");
    list.hidden = diagnostics.length === 0;
    list.replaceChildren(
      ...diagnostics.map((one) => {
        const text = `${one.line}:${one.column} ${one.message.split("\n")[0]}`;
        const go = button(text, one.help ?? one.message, () => this.editor.go(one.from), { class: "link" });
        return el("li", { class: one.severity }, el("code", {}, one.code), " ", go);
      }),
    );
  }

  /** The text has errors: what is shown belongs to an older one. */
  private broken(): void {
    const errors = this.checked?.diagnostics.filter((one) => one.severity === "error").length ?? 0;
    this.stale(
      `${errors === 1 ? "An error" : `${errors} errors`} in the policy: numbers, verdict and picture are of the text before`,
    );
    this.say("");
    document.documentElement.dataset.state = "broken";
  }

  private stale(text: string | null): void {
    const note = byId("stale");
    note.hidden = text === null;
    note.textContent = text;
    byId("result").classList.toggle("old", text !== null);
  }

  private sliders({ params }: Checked): void {
    byId("params").hidden = params.length === 0;
    // A slider under the pointer stays.
    if (byId("sliders").contains(document.activeElement)) return;
    sliders(byId("sliders"), params, this.params, (name, value) => {
      this.params = fitting({ ...this.params, [name]: value }, params);
      this.writeHash();
      const signal = this.next();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.simulate(signal), PAUSE / 2);
    });
  }

  // ---- results ----------------------------------------------------------------------------------

  private async simulate(signal: AbortSignal): Promise<void> {
    if (!this.checked?.policy) return;
    const { text } = this.editor;
    document.documentElement.dataset.state = "loading";
    this.say("simulating…");
    this.pending("numbers", "picture", "explored");
    try {
      const found = await api.simulate(this.setting, this.params, text, signal);
      numbers(byId("numbers"), found, this.ungoverned);
      this.arrived("numbers", "picture");
      document.documentElement.dataset.run = found.run;
      this.picture.show(found.run);
      this.stale(null);
      this.say("exploring small machines…");
    } catch (error) {
      if (!this.failed(error, signal)) return;
    }
    try {
      const found = await api.verdict(text, this.params, signal);
      verdict(byId("explored"), found);
      this.arrived("explored");
    } catch (error) {
      if (!this.failed(error, signal)) return;
    }
    if (document.documentElement.dataset.state === "failed") return;
    this.say("");
    document.documentElement.dataset.state = "ready";
  }

  /** Pales parts that show an older text or setting. */
  private pending(...parts: string[]): void {
    for (const part of parts) byId(part).setAttribute("aria-busy", "true");
  }

  private arrived(...parts: string[]): void {
    for (const part of parts) byId(part).removeAttribute("aria-busy");
  }

  /** Says what went wrong. False if nobody waits for it any more. */
  private failed(error: unknown, signal: AbortSignal): boolean {
    if (signal.aborted) return false;
    document.documentElement.dataset.state = "failed";
    this.stale(why(error));
    this.say("");
    return true;
  }

  /** Says what goes on, but not over a note. */
  private say(text: string): void {
    const status = byId("status");
    if (!status.classList.contains("bad")) status.textContent = text;
  }

  /** What went wrong with the user's last command. It stays until the next one. */
  private note(text: string): void {
    const status = byId("status");
    if (text || status.classList.contains("bad")) status.textContent = text;
    status.classList.toggle("bad", text !== "");
  }

  // ---- proofs -----------------------------------------------------------------------------------

  private prover(): void {
    const { ready, why, help } = this.described.prover;
    const start = button("Prove", "Prove the policy as `hearth prove` does", () => this.proveOrStop(), {
      id: "prove",
    });
    start.disabled = !ready;
    // The reason without its cause fits into a line.
    const missing = ready ? "" : `Not available: ${(why ?? "").split(":")[0]}`;
    const title = ready ? "" : `${why ?? ""}${help ? `\n${help}` : ""}`;
    byId("verdict").replaceChildren(
      el("div", { id: "explored" }),
      el("div", { class: "prove" }, start, el("span", { id: "proving", class: "quiet", title }, missing)),
      el("div", { id: "proof" }),
    );
  }

  /** A proof belongs to one text. */
  private unproved(): void {
    this.proving.abort();
    byId("proof").replaceChildren();
    byId("prove").textContent = "Prove";
    if (this.described.prover.ready) byId("proving").textContent = "";
  }

  private proveOrStop(): void {
    const under = byId("prove").textContent === "Stop";
    this.unproved();
    if (!under) void this.prove();
  }

  private async prove(): Promise<void> {
    this.proving = new AbortController();
    const { signal } = this.proving;
    byId("prove").textContent = "Stop";
    const note = byId("proving");
    note.textContent = "proving…";
    const watch = setInterval(() => {
      void api.progress().then(
        (progress) => {
          if (progress && progress.of > 0 && !signal.aborted)
            note.textContent = `proving: ${progress.done} of ${progress.of}`;
        },
        () => {},
      );
    }, 400);
    try {
      const found = await api.prove(this.editor.text, signal);
      if (signal.aborted) return;
      note.textContent = "";
      proof(byId("proof"), found, (line) => this.editor.go(this.editor.line(line)));
    } catch (error) {
      if (!signal.aborted) note.textContent = `not proved: ${why(error)}`;
    } finally {
      clearInterval(watch);
      if (!signal.aborted) byId("prove").textContent = "Prove";
    }
  }

  // ---- formatting -------------------------------------------------------------------------------

  private async format(): Promise<void> {
    const { text } = this.editor;
    try {
      const formatted = await api.format(text);
      // Somebody may have typed meanwhile.
      if (this.editor.text === text) this.editor.replace(formatted.text);
      this.note("");
    } catch (error) {
      this.note(why(error).replace("\n", ": "));
    }
  }

  // ---- saving -----------------------------------------------------------------------------------

  private async save(): Promise<void> {
    const name = this.path === null ? await this.name() : null;
    if (this.path === null && name === null) return;
    const text = this.editor.file;
    try {
      const { path, digest } = await api.save(text, this.digest, name);
      [this.path, this.digest, this.saved] = [path, digest, text];
      this.title();
      this.note("");
      this.say(`saved ${path}`);
    } catch (error) {
      this.note(why(error).replace("\n", ": "));
    }
  }

  /** Asks for the name of a new file. `null`: the user changed his mind. */
  private name(): Promise<string | null> {
    const dialog = byId<HTMLDialogElement>("ask");
    const box = el("input", {
      id: "new-name",
      required: "",
      maxlength: "100",
      spellcheck: "false",
      value: this.checked?.policy ?? "",
    });
    const form = el(
      "form",
      { method: "dialog" },
      el("h2", {}, "Save a copy"),
      el("label", {}, "Name of the file, in the folder of `hearth view`", box),
      el("p", { class: "quiet" }, "The policy's name is the one in its text."),
      el("button", { value: "save" }, "Save"),
      " ",
      el("button", { value: "", formnovalidate: "" }, "Cancel"),
    );
    dialog.replaceChildren(form);
    dialog.returnValue = "";
    dialog.showModal();
    box.select();
    return new Promise((done) => {
      dialog.addEventListener("close", () => done(dialog.returnValue === "save" ? box.value.trim() : null), {
        once: true,
      });
    });
  }
}

api.playground().then(
  (described) => void new Page(described),
  (error: unknown) => {
    document.documentElement.dataset.state = "failed";
    byId("status").className = "bad";
    byId("status").textContent = why(error);
  },
);
