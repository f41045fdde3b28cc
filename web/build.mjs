// node build.mjs           the page: dist/index.html, dist/view.js, dist/view.css
// node build.mjs --tests   tests, the mock server, the benchmark and the book's pictures, for Node: out/
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";

const tests = process.argv.includes("--tests");
const to = tests ? "out" : "dist";
rmSync(to, { recursive: true, force: true });
mkdirSync(to);

const common = { bundle: true, outdir: to, logLevel: "warning", charset: "utf8" };
if (tests) {
  const below = (dir) =>
    readdirSync(dir)
      .filter((f) => f.endsWith(".ts"))
      .map((f) => `${dir}/${f}`);
  const entry = (file, name) => ({ in: file, out: name });
  await build({
    ...common,
    entryPoints: [
      ...below("test/unit").map((f) => entry(f, `unit/${f.split("/").pop().replace(/\.ts$/, "")}`)),
      ...below("test/e2e")
        .filter((f) => f.endsWith(".test.ts"))
        .map((f) => entry(f, `e2e/${f.split("/").pop().replace(/\.ts$/, "")}`)),
      entry("test/mock/main.ts", "mock/main"),
      entry("bench/main.ts", "bench/main"),
      entry("pictures/main.ts", "pictures/main"),
    ],
    platform: "node",
    format: "esm",
    packages: "external",
    sourcemap: "inline",
  });
} else {
  await build({
    ...common,
    entryPoints: { view: "src/main.ts" },
    minify: true,
    target: "es2022",
    format: "esm",
  });
  await build({ ...common, entryPoints: { view: "src/page.css" }, minify: true });
  copyFileSync("src/index.html", "dist/index.html");
}
