// How fast the page draws a trace, in a real Chromium:
//   node out/bench/main.js [OPTIONS] ADDRESS                    a server that runs already
//   node out/bench/main.js [OPTIONS] --hearth BINARY TRACE...   starts `hearth view`, and measures it, too
// --rounds N (5), --json, --pause MS (0: each step comes as soon as the last one's picture is sharp).
// Each round is a new page with empty caches, at other places of the trace. Prints a table.

import { launch } from "../test/e2e/browser";
import { measure, type Step } from "./measure";
import { serve, type Served } from "./serve";
import { table, type Result } from "./table";

function usage(): never {
  console.error(
    "error: what is to be looked at?\n  help: node out/bench/main.js [--rounds N] [--pause MS] [--json] (ADDRESS | --hearth BINARY TRACE...)",
  );
  process.exit(2);
}

const rest = process.argv.slice(2);
const flag = (name: string): boolean => {
  const at = rest.indexOf(name);
  if (at >= 0) rest.splice(at, 1);
  return at >= 0;
};
const option = (name: string): string | undefined => {
  const at = rest.indexOf(name);
  return at >= 0 ? rest.splice(at, 2)[1] : undefined;
};
const rounds = Number(option("--rounds") ?? 5);
const pause = Number(option("--pause") ?? 0);
const hearth = option("--hearth");
const json = flag("--json");
const address = rest[0] ?? usage();

const server: Served = hearth
  ? await serve(hearth, rest)
  : { address, opened: null, memory: () => null, cpu: () => 0, stop: () => {} };
const result: Result = {
  traces: [],
  opened: server.opened,
  first: [],
  complete: [],
  steps: [] as Step[],
  page: 0,
  renderer: 0,
  server: null,
};
const browser = await launch();
try {
  for (let round = 0; round < rounds; round++) await measure(browser, server, { round, pause }, result);
  result.server = server.memory();
} finally {
  await browser.close();
  server.stop();
}
console.log(json ? JSON.stringify(result) : table(result));
