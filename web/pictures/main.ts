// node out/pictures/main.js HEARTH LIST.json TRACES TO [NAME...]: takes the pictures of the book again.
// LIST says, for each: the traces (folders below TRACES), the part of the address after `#` that
// holds the view, its size, and where the pointer rests. scripts/pictures makes the traces and calls this.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "../bench/serve";
import { launch, ready } from "../test/e2e/browser";

interface Picture {
  name: string;
  traces: string[];
  view: string;
  width: number;
  height: number;
  pointer?: [number, number];
}

const [hearth, list, traces, to, ...only] = process.argv.slice(2);
if (!hearth || !list || !traces || !to) {
  console.error("error: what and where to?\n  help: scripts/pictures does all of it");
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
  const { name, view, width, height, pointer } = picture;
  const server = await serve(
    hearth!,
    picture.traces.map((trace) => join(traces!, trace)),
  );
  const page = await browser.newPage({ viewport: { width, height } });
  try {
    await page.goto(`${server.address}#${view}`);
    await ready(page);
    if (pointer) await page.mouse.move(...pointer);
    // Names and the pointer's tip come behind the picture.
    await page.waitForTimeout(1000);
    await ready(page);
    await page.screenshot({ path: join(to!, `${name}.png`) });
    console.log(`${name}.png`);
  } finally {
    await page.close();
    server.stop();
  }
}
