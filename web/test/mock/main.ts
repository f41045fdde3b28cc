// node out/mock/main.js [CORES [SECONDS [PORT]]]: serves the page with generated traces, for development.

import { serve } from "./server";

const [cores, seconds, port] = process.argv.slice(2).map(Number);
const asked = (spread: boolean) => ({
  name: spread ? "cfs.trace" : "nest.trace",
  cores: cores || 160,
  duration: (seconds || 2) * 1e9,
  spread,
  seed: 7,
  lossy: spread,
});
const mock = await serve([asked(true), asked(false)], "page", port || 0);
console.log(mock.url);
