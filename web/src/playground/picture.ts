// The viewer's page in a frame. A new picture replaces the old one when it is drawn, so that nothing flickers.

import { el } from "../ui/dom";

/** A picture that is not complete after this time is shown as it is. */
const PATIENCE = 4000;
/** The first view: two traces share half of the window, so that the cores need the place. */
const FIRST = "#strips=underload";

export class Picture {
  private shown: HTMLIFrameElement | null = null;
  private coming: HTMLIFrameElement | null = null;
  private run = "";

  constructor(private readonly place: HTMLElement) {}

  /** The address of the picture, for a tab of its own. */
  get address(): string {
    return this.run ? `runs/${this.run}/${this.view}` : "";
  }

  /** The view of the present picture: window, colours, selection. */
  private get view(): string {
    return this.shown?.contentWindow?.location.hash ?? FIRST;
  }

  show(run: string): void {
    if (run === this.run) return;
    this.run = run;
    this.coming?.remove();
    const frame = el("iframe", {
      src: `runs/${run}/${this.view}`,
      title: "Cores over time: the policy, and below it the baseline",
    });
    frame.className = "coming";
    this.coming = frame;
    this.place.append(frame);
    const began = performance.now();
    const wait = () => {
      if (this.coming !== frame) return;
      const state = frame.contentDocument?.documentElement.dataset.state;
      const late = performance.now() - began > PATIENCE;
      if (state !== "ready" && state !== "failed" && !late) return void requestAnimationFrame(wait);
      this.shown?.remove();
      frame.className = "";
      [this.shown, this.coming] = [frame, null];
    };
    frame.addEventListener("load", wait, { once: true });
  }
}
