"use strict";

// Sorting: a click on a column's title sorts the rows within each group.
for (const table of document.querySelectorAll(".numbers")) {
  const titles = [...table.tHead.rows[0].cells];
  const key = (row, at) => at ? Number(row.cells[at].dataset.v ?? NaN) : row.cells[0].textContent;
  const compare = (a, b) => {
    if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
    return isNaN(a) - isNaN(b) || a - b;
  };
  const original = new Map([...table.querySelectorAll("tbody tr")].map((row, i) => [row, i]));
  titles.forEach((title, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...title.childNodes);
    title.append(button);
    button.onclick = () => {
      // Each click goes on: downwards (names upwards), the other way, as it was.
      const first = at ? "descending" : "ascending", second = at ? "ascending" : "descending";
      const now = title.ariaSort === first ? second : title.ariaSort === second ? null : first;
      titles.forEach(other => other.removeAttribute("aria-sort"));
      if (now) title.setAttribute("aria-sort", now);
      for (const body of table.tBodies) {
        const rows = [...body.rows].slice(1);
        rows.sort((a, b) => {
          if (!now) return original.get(a) - original.get(b);
          const [x, y] = [key(a, at), key(b, at)];
          if (x !== x || y !== y) return compare(x, y);
          return now === "ascending" ? compare(x, y) : compare(y, x);
        });
        body.append(...rows);
      }
    };
  });
}

// Execution traces. The policies of a group share the view (the part of the run that is shown),
// the height of a core's line, and the scale of underload.
const GUTTER = 58, RIGHT = 10, AXIS = 22, STRIP = 44, GAP = 12, HIDDEN = 3;

// Numbers of seven bits a byte, the lowest first; `byte` takes a single byte.
function reader(base64) {
  const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
  let at = 0;
  return {
    more: () => at < bytes.length,
    byte: () => bytes[at++],
    number() {
      let x = 0, scale = 1, b;
      do { b = bytes[at++]; x += (b & 127) * scale; scale *= 128; } while (b & 128);
      return x;
    },
  };
}

function decode(data) {
  const second = data.duration / data.steps;
  const rows = [], from = reader(data.rows);
  for (const [label, socket] of data.cores) {
    const n = from.number(), row = { label, socket, n };
    row.t0 = new Float64Array(n); row.t1 = new Float64Array(n);
    row.ghz = new Float32Array(n); row.busy = new Float32Array(n);
    for (let i = 0, end = 0; i < n; i++) {
      row.t0[i] = (end + from.number()) * second;
      end = Math.round(row.t0[i] / second) + from.number();
      row.t1[i] = end * second;
      row.ghz[i] = from.byte() * data.units[0];
      row.busy[i] = from.byte() / 255;
    }
    rows.push(row);
  }
  const underload = [], series = reader(data.underload);
  for (let t = 0; series.more();) {
    t += series.number();
    underload.push([t * second, series.number() * data.units[1]]);
  }
  return { ...data, rows, underload };
}

// The first piece of a row that ends after t.
function find(row, t) {
  let a = 0, b = row.n;
  while (a < b) {
    const mid = (a + b) >> 1;
    if (row.t1[mid] > t) b = mid; else a = mid + 1;
  }
  return a;
}

function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough * (1 - 1e-9));
  const all = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) all.push(i * step);
  return { all, text: x => {
    const [unit, name] = high < 1e-3 ? [1e6, "µs"] : high < 1 ? [1e3, "ms"] : [1, "s"];
    const decimals = Math.max(0, -Math.floor(Math.log10(step * unit) + 1e-9));
    return `${(x * unit).toFixed(decimals)} ${name}`;
  } };
}

const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);
let printing = false;

function group(details) {
  const panels = [...details.querySelectorAll(".trace")].map(figure => {
    const data = decode(JSON.parse(figure.querySelector("script").textContent));
    const box = figure.querySelector(".canvas"), mark = name => {
      const div = document.createElement("div");
      div.className = name;
      div.hidden = true;
      box.append(div);
      return div;
    };
    return { ...data, canvas: box.querySelector("canvas"), cursor: mark("cursor"), brush: mark("brush") };
  });
  const whole = Math.max(...panels.map(p => p.duration), 1e-6);
  const most = Math.max(1, ...panels.flatMap(p => p.underload.map(u => u[1])));
  const mostUsed = Math.max(1, ...panels.map(p => p.rows.filter(row => row.n).length));
  const height = Math.min(14, Math.max(3, Math.floor(260 / mostUsed)));
  const unused = details.querySelector("input"), reset = details.querySelector("button");
  let view = [0, whole], asked = false;

  const seconds = (panel, x) => view[0] + (x - GUTTER) / panel.width * (view[1] - view[0]);
  const pixels = (panel, t) => GUTTER + (t - view[0]) / (view[1] - view[0]) * panel.width;

  function show(a, b) {
    const least = whole * 1e-5, width = Math.min(whole, Math.max(least, b - a));
    a = Math.min(Math.max(0, a), whole - width);
    view = [a, a + width];
    reset.disabled = width >= whole;
    if (!asked) requestAnimationFrame(() => { asked = false; panels.forEach(draw); });
    asked = true;
  }

  // Where each core's line is; sockets are set apart, and runs of unused cores are one gap.
  function layout(panel) {
    let y = 2, socket = null;
    panel.places = [];
    panel.sockets = [];
    for (const row of panel.rows) {
      if (!row.n && !unused.checked) continue;
      if (row.socket !== socket) {
        if (socket !== null) y += 8;
        socket = row.socket;
        panel.sockets.push({ socket, y0: y });
      }
      const h = row.n ? height : HIDDEN;
      panel.places.push({ row, y, h });
      y += h;
      panel.sockets.at(-1).y1 = y;
    }
    panel.bottom = Math.max(y, 20);
  }

  function draw(panel) {
    const { canvas } = panel, style = getComputedStyle(canvas);
    layout(panel);
    const full = canvas.clientWidth, tall = panel.bottom + GAP + STRIP + AXIS, ratio = window.devicePixelRatio || 1;
    panel.width = Math.max(50, full - GUTTER - RIGHT);
    canvas.style.height = `${tall}px`;
    canvas.width = full * ratio;
    canvas.height = tall * ratio;
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    g.font = `10.5px ${style.fontFamily}`;
    const ink = printing ? "#1b1e24" : style.color, quiet = "#868d99", faint = "rgba(134,141,153,.22)";
    axis(panel, g, ink, faint, tall);
    labels(panel, g, ink, quiet);
    g.save();
    g.beginPath();
    g.rect(GUTTER, 0, panel.width, tall);
    g.clip();
    for (const place of panel.places) {
      if (place.row.n) line(panel, g, place);
      else {
        g.fillStyle = faint;
        g.fillRect(GUTTER, place.y, panel.width, 1);
      }
    }
    strip(panel, g, quiet);
    g.restore();
    const end = pixels(panel, panel.duration);
    if (panel.duration < whole * .999 && end > GUTTER && end < full - RIGHT) {
      g.fillStyle = ink;
      g.fillRect(end, 0, 1, tall - AXIS);
      g.textBaseline = "middle";
      g.textAlign = "left";
      const words = `end, ${panel.duration.toPrecision(3)} s`;
      if (end + 12 + g.measureText(words).width < full) g.fillText(words, end + 6, panel.bottom + GAP + STRIP / 2);
    }
  }

  function axis(panel, g, ink, faint, tall) {
    const { all, text } = ticks(...view, Math.max(2, panel.width / 110));
    g.textBaseline = "top";
    for (const t of all) {
      const x = pixels(panel, t), words = text(t), half = g.measureText(words).width / 2;
      g.fillStyle = faint;
      g.fillRect(x, 0, 1, tall - AXIS + 4);
      g.fillStyle = ink;
      g.textAlign = "center";
      g.fillText(words, Math.min(x, GUTTER + panel.width + RIGHT - half), tall - AXIS + 7);
    }
  }

  function labels(panel, g, ink, quiet) {
    g.textBaseline = "middle";
    g.textAlign = "right";
    let free = -Infinity;
    for (const { row, y, h } of panel.places) {
      const at = y + h / 2;
      if (!row.n || at - free < 11) continue;
      g.fillStyle = ink;
      g.fillText(row.label, GUTTER - 6, at, 30);
      free = at;
    }
    const several = new Set(panel.rows.map(row => row.socket)).size > 1;
    for (const { socket, y0, y1 } of panel.sockets) {
      g.fillStyle = quiet;
      g.fillRect(18, y0, 1, y1 - y0);
      g.textAlign = "left";
      if (several && y1 - y0 > 9) g.fillText(`S${socket}`, 0, (y0 + y1) / 2, 16);
    }
    if (!panel.places.length) {
      g.fillStyle = quiet;
      g.textAlign = "left";
      g.fillText("No core was busy.", GUTTER + 6, 12);
    }
  }

  // One core: for each pixel the busy time in it and the mean frequency of that time.
  function line(panel, g, { row, y, h }) {
    const scale = panel.width / (view[1] - view[0]), n = Math.ceil(panel.width);
    const busy = new Float64Array(n + 1), known = new Float64Array(n + 1), sum = new Float64Array(n + 1);
    for (let i = find(row, view[0]); i < row.n && row.t0[i] < view[1]; i++) {
      let a = Math.max(0, (row.t0[i] - view[0]) * scale), b = Math.min(n, (row.t1[i] - view[0]) * scale);
      // What is wide enough gets sharp ends.
      if (b - a >= 1) [a, b] = [Math.round(a), Math.round(b)];
      for (let x = Math.floor(a); x < b; x++) {
        const part = (Math.min(b, x + 1) - Math.max(a, x)) * row.busy[i];
        busy[x] += part;
        if (row.ghz[i]) { known[x] += part; sum[x] += part * row.ghz[i]; }
      }
    }
    const room = h > 5 ? h - 1 : h;
    let from = 0, colour = null, tall = 0;
    for (let x = 0; x <= n; x++) {
      let c = null, t = 0;
      if (x < n && busy[x] > 0) {
        c = colourOf(panel, known[x] ? sum[x] / known[x] : 0);
        t = Math.max(Math.min(2, room), Math.round(Math.min(1, busy[x]) * room * 2) / 2);
      }
      if (c === colour && t === tall) continue;
      if (colour) {
        g.fillStyle = colour;
        g.fillRect(GUTTER + from, y + h - tall, x - from, tall);
      }
      from = x; colour = c; tall = t;
    }
  }

  function colourOf(panel, ghz) {
    if (!ghz) return panel.unknown;
    const bin = Math.floor((ghz - panel.low - 1e-4) / panel.step);
    return panel.colours[Math.min(panel.colours.length - 1, Math.max(0, bin))];
  }

  // Underload: the mean in each pixel, and lighter the most.
  function strip(panel, g, quiet) {
    const top = panel.bottom + GAP, foot = top + STRIP, n = Math.ceil(panel.width);
    const scale = panel.width / (view[1] - view[0]);
    const mean = new Float64Array(n + 1), peak = new Float64Array(n + 1);
    panel.underload.forEach(([t, value], i) => {
      const end = i + 1 < panel.underload.length ? panel.underload[i + 1][0] : panel.duration;
      const a = Math.max(0, (t - view[0]) * scale), b = Math.min(n, (end - view[0]) * scale);
      if (!value) return;
      for (let x = Math.floor(a); x < b; x++) {
        mean[x] += (Math.min(b, x + 1) - Math.max(a, x)) * value;
        peak[x] = Math.max(peak[x], value);
      }
    });
    g.fillStyle = quiet;
    for (const [values, alpha] of [[peak, .35], [mean, 1]]) {
      g.globalAlpha = alpha;
      for (let x = 0; x < n; x++) {
        const tall = values[x] / most * STRIP;
        if (tall > 0) g.fillRect(GUTTER + x, foot - tall, 1, tall);
      }
    }
    g.globalAlpha = 1;
    g.fillRect(GUTTER, foot, pixels(panel, panel.duration) - GUTTER, 1);
    g.restore();
    g.save();
    g.textAlign = "right";
    g.textBaseline = "top";
    g.fillStyle = quiet;
    g.fillText(String(Math.round(most * 10) / 10), GUTTER - 6, top - 2);
    g.textBaseline = "bottom";
    g.fillText("underload", GUTTER - 6, foot + 3);
  }

  function describe(panel, x, y) {
    const t = seconds(panel, x), place = panel.places.find(p => y >= p.y && y < p.y + p.h);
    const near = (view[1] - view[0]) / panel.width;
    const time = `${t.toFixed(Math.min(9, Math.max(0, Math.ceil(-Math.log10(near)))))} s`;
    if (t < 0 || t > panel.duration) return null;
    if (!place) {
      const top = panel.bottom + GAP;
      if (y < top || y > top + STRIP) return time;
      const last = panel.underload.findLast(u => u[0] <= t);
      return last ? `${time} · underload ${Math.round(last[1] * 10) / 10}` : time;
    }
    // Short pieces are hard to hit: take one within a pixel.
    const { row } = place, i = find(row, t - near);
    const core = `core ${row.label}, socket ${row.socket} · ${time}`;
    if (i >= row.n || row.t0[i] > t + near) return `${core} · idle`;
    const ghz = row.ghz[i] ? `${row.ghz[i].toFixed(2)} GHz` : "frequency unknown";
    return `${core} · ${ghz}${row.busy[i] < .995 ? ` · ${Math.round(row.busy[i] * 100)}% busy` : ""}`;
  }

  function point(x) {
    for (const panel of panels) {
      panel.cursor.hidden = x === null;
      panel.cursor.style.left = `${x}px`;
    }
  }

  for (const panel of panels) {
    const { canvas, brush } = panel;
    const clamp = x => Math.min(GUTTER + panel.width, Math.max(GUTTER, x));
    let start = null;
    canvas.onpointerdown = event => {
      if (event.button || event.offsetX < GUTTER) return;
      start = clamp(event.offsetX);
      canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointermove = event => {
      const x = clamp(event.offsetX);
      point(x);
      if (start !== null) {
        brush.hidden = Math.abs(x - start) < 4;
        brush.style.left = `${Math.min(x, start)}px`;
        brush.style.width = `${Math.abs(x - start)}px`;
      }
      const words = event.offsetX < GUTTER ? null : describe(panel, x, event.offsetY);
      tip.hidden = words === null;
      tip.textContent = words;
      const left = event.clientX + 14, room = window.innerWidth - tip.offsetWidth - 8;
      tip.style.left = `${Math.min(left, room)}px`;
      tip.style.top = `${event.clientY + 16}px`;
    };
    canvas.onpointerup = event => {
      if (start !== null && !brush.hidden) {
        const ends = [start, clamp(event.offsetX)].map(x => seconds(panel, x));
        show(Math.min(...ends), Math.max(...ends));
      }
      start = null;
      brush.hidden = true;
    };
    canvas.onpointercancel = () => { start = null; brush.hidden = true; };
    canvas.onpointerleave = () => { tip.hidden = true; point(null); };
    canvas.ondblclick = () => show(0, whole);
    const zoom = (t, factor) => show(t - (t - view[0]) * factor, t + (view[1] - t) * factor);
    const move = part => show(view[0] + part * (view[1] - view[0]), view[1] + part * (view[1] - view[0]));
    canvas.addEventListener("wheel", event => {
      if (event.ctrlKey || event.metaKey) zoom(seconds(panel, clamp(event.offsetX)), 1.0015 ** event.deltaY);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / panel.width);
      else return;
      event.preventDefault();
    }, { passive: false });
    canvas.onkeydown = event => {
      const mid = (view[0] + view[1]) / 2, keys = {
        "+": () => zoom(mid, .5), "=": () => zoom(mid, .5), "-": () => zoom(mid, 2),
        ArrowLeft: () => move(-.2), ArrowRight: () => move(.2), "0": () => show(0, whole),
      };
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      keys[event.key]();
      event.preventDefault();
    };
  }
  reset.onclick = () => show(0, whole);
  unused.onchange = () => show(...view);
  const redraw = () => show(...view);
  panels.forEach(draw);
  new ResizeObserver(redraw).observe(details);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  return () => panels.forEach(draw);
}

// A group is decoded and drawn when it is opened for the first time.
const drawn = new Map();
const prepare = details => {
  if (details.open && !drawn.has(details)) drawn.set(details, group(details));
};
for (const details of document.querySelectorAll(".setting")) {
  details.addEventListener("toggle", () => prepare(details));
  prepare(details);
}
addEventListener("beforeprint", () => { printing = true; drawn.forEach(draw => draw()); });
addEventListener("afterprint", () => { printing = false; drawn.forEach(draw => draw()); });
