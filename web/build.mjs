// node build.mjs [--to DIR]  the pages: {index.html,view.js,view.css}, playground.{html,js,css}, report.{js,css} and picture.js, by
//                            default in web/page
// node build.mjs --tests     tests, benchmark and pictures of the book, for Node: out/
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const tests = process.argv.includes("--tests");
const named = process.argv.indexOf("--to") + 1;
const to = named ? resolve(process.argv[named]) : tests ? "out" : "page";
// Paths are relative to this folder.
process.chdir(import.meta.dirname);
rmSync(to, { recursive: true, force: true });
mkdirSync(to);

/** `@import "hearth:colours"` in a style sheet: the table of colours as custom properties. */
const colours = {
  name: "colours",
  setup(build) {
    build.onResolve({ filter: /^hearth:colours$/ }, ({ path }) => ({ path, namespace: "colours" }));
    build.onLoad({ filter: /.*/, namespace: "colours" }, () => {
      const table = JSON.parse(readFileSync("../crates/base/colours.json", "utf8"));
      const theme = (name) =>
        Object.entries(table[name])
          .filter(([, value]) => typeof value === "string")
          .map(([key, value]) => `--${key.replaceAll("_", "-")}: ${value};`)
          .concat(`color-scheme: ${name};`)
          .join(" ");
      const contents = `
        :root { ${theme("light")} }
        @media screen and (prefers-color-scheme: dark) { :root:not([data-theme=light]) { ${theme("dark")} } }
        :root[data-theme=dark] { ${theme("dark")} }`;
      return { contents, loader: "css" };
    });
  },
};

/** Puts the licences of others' code, of which the editor is made, in front of the script. */
function licences(script, inputs) {
  const packages = [
    ...new Set(inputs.map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]).filter(Boolean)),
  ].sort();
  const texts = new Set(packages.map((name) => readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()));
  const head = `/*! This file contains ${packages.join(", ")}.\n\n${[...texts].join("\n\n")}\n*/\n`;
  writeFileSync(script, head + readFileSync(script, "utf8"));
}

const common = { bundle: true, outdir: to, logLevel: "warning", charset: "utf8" };
if (tests) {
  const below = (dir) =>
    readdirSync(dir)
      .filter((f) => f.endsWith(".ts"))
      .map((f) => `${dir}/${f}`);
  const entry = (file, name) => ({ in: file, out: name });
  const under = (dir, file) => entry(file, `${dir}/${file.split("/").pop().replace(/\.ts$/, "")}`);
  await build({
    ...common,
    entryPoints: [
      ...below("test/unit").map((f) => under("unit", f)),
      ...below("test/e2e")
        .filter((f) => f.endsWith(".test.ts"))
        .map((f) => under("e2e", f)),
      entry("bench/main.ts", "bench/main"),
      entry("pictures/main.ts", "pictures/main"),
    ],
    platform: "node",
    format: "esm",
    packages: "external",
    sourcemap: "inline",
  });
} else {
  const page = { ...common, minify: true, target: "es2022" };
  await build({ ...page, entryPoints: { view: "src/main.ts" }, format: "esm" });
  await build({
    ...page,
    entryPoints: { playground: "src/playground/main.ts" },
    format: "esm",
    metafile: true,
  }).then(({ metafile }) => licences(`${to}/playground.js`, Object.keys(metafile.inputs)));
  // The report embeds its script in HTML: it cannot be a file of its own.
  await build({ ...page, entryPoints: { report: "src/report/main.ts" }, format: "iife" });
  // `hearth picture` runs it in an embedded engine.
  await build({ ...page, entryPoints: { picture: "src/picture/main.ts" }, format: "iife", target: "es2020" });
  await build({
    ...page,
    entryPoints: {
      view: "src/page.css",
      playground: "src/playground/page.css",
      report: "src/report/page.css",
    },
    plugins: [colours],
  });
  copyFileSync("src/index.html", `${to}/index.html`);
  copyFileSync("src/playground/index.html", `${to}/playground.html`);
}
