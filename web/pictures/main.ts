// node out/pictures/main.js HEARTH LIST.json RUNS TO [NAME...]: takes the book's pictures again.
// LIST says for each picture: the traces or the report (below RUNS) or the playground's policy (beside LIST), the size, and for
// the viewer the fragment of the URL that holds the view and the place of the pointer.
//
// SIGHT=deuteranopia (protanopia, tritanopia, achromatopsia): as a reader with this type of colour vision sees them.

import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { serve } from "../bench/serve";
import { launch, ready } from "../test/e2e/browser";

interface Picture {
  name: string;
  width: number;
  height: number;
  traces?: string[];
  /** Arguments of the playground; the first one is a file beside the list. */
  policy?: string[];
  view?: string;
  pointer?: [number, number];
  /** A report; only these sections of it are shown. */
  report?: string;
  sections?: string[];
}

const [hearth, list, traces, to, ...only] = process.argv.slice(2);
if (!hearth || !list || !traces || !to) {
  console.error("usage: main.js HEARTH LIST.json TRACES OUT [PICTURE...]");
  process.exit(2);
}
const all = JSON.parse(readFileSync(list, "utf8")) as Picture[];
const browser = await launch();
try {
  for (const picture of all.filter(({ name }) => only.length === 0 || only.includes(name)))
    await take(picture);
} finally {
  await browser.close();
}

async function take(picture: Picture): Promise<void> {
  const { name, width, height, report } = picture;
  const page = await browser.newPage({ viewport: { width, height } });
  if (process.env.SIGHT) {
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setEmulatedVisionDeficiency", {
      type: process.env.SIGHT as "deuteranopia",
    });
  }
  try {
    const shoot = () => page.screenshot({ path: join(to!, `${name}.png`) });
    if (report) await takeReport(page, picture, shoot);
    else if (picture.policy) await takePlayground(page, picture.policy, shoot);
    else await takeViewer(page, picture, shoot);
    console.log(`${name}.png`);
  } finally {
    await page.close();
  }
}

async function takeReport(page: Page, picture: Picture, shoot: () => Promise<unknown>): Promise<void> {
  await page.goto(`file://${resolve(traces!, picture.report!)}`);
  const others = `section${picture.sections!.map((id) => `:not(#${id})`).join("")} { display: none }`;
  await page.addStyleTag({ content: others });
  await page.waitForTimeout(500);
  await shoot();
}

async function takeViewer(page: Page, picture: Picture, shoot: () => Promise<unknown>): Promise<void> {
  const server = await serve(
    hearth!,
    picture.traces!.map((trace) => join(traces!, trace)),
  );
  try {
    await page.goto(`${server.address}#${picture.view}`);
    await ready(page);
    if (picture.pointer) await page.mouse.move(...picture.pointer);
    // Names and the tip arrive after the picture.
    await page.waitForTimeout(1000);
    await ready(page);
    await shoot();
  } finally {
    server.stop();
  }
}

async function takePlayground(page: Page, policy: string[], shoot: () => Promise<unknown>): Promise<void> {
  const [file, ...others] = policy;
  const server = await serve(hearth!, [join(dirname(list!), file!), ...others]);
  try {
    await page.goto(server.address);
    await ready(page);
    // The picture in its frame.
    await page.waitForTimeout(2000);
    await shoot();
  } finally {
    server.stop();
  }
}
