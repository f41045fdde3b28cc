// One interface for drawing to the canvas and to an SVG file.

import { first } from "../model/bisect";

export interface TextStyle {
  size?: number;
  weight?: number;
  anchor?: "start" | "middle" | "end";
  fill: string;
  /** Cut to this width, with an ellipsis. */
  most?: number;
  mono?: boolean;
}

export interface Paint {
  fill?: string;
  stroke?: string;
  width?: number;
}

export interface Painter {
  rect(x: number, y: number, w: number, h: number, fill: string): void;
  frame(x: number, y: number, w: number, h: number, stroke: string, width?: number): void;
  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width?: number, dash?: number[]): void;
  /** A polygon (`fill`) or an open line (`stroke`), as x, y, x, y … */
  shape(points: readonly number[], style: Paint): void;
  curve(points: readonly number[], stroke: string, width: number): void;
  disc(x: number, y: number, r: number, style: Paint): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
  /** Part of a picture, stretched without smoothing unless it is shrunk. */
  image(source: OffscreenCanvas, sx: number, sw: number, x: number, y: number, w: number, h: number): void;
  clip(x: number, y: number, w: number, h: number, inside: () => void): void;
  measure(text: string, style: TextStyle): number;
}

const SANS = `Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif`;

export function font(style: TextStyle): string {
  return `${style.weight ?? 400} ${style.size ?? 11}px ${SANS}`;
}

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

export class CanvasPainter implements Painter {
  private readonly widths = new Map<string, number>();

  constructor(readonly c: Context) {}

  rect(x: number, y: number, w: number, h: number, fill: string): void {
    this.c.fillStyle = fill;
    this.c.fillRect(x, y, w, h);
  }

  frame(x: number, y: number, w: number, h: number, stroke: string, width = 1): void {
    this.c.strokeStyle = stroke;
    this.c.lineWidth = width;
    this.c.strokeRect(x + width / 2, y + width / 2, w - width, h - width);
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1, dash: number[] = []): void {
    this.c.strokeStyle = stroke;
    this.c.lineWidth = width;
    this.c.setLineDash(dash);
    this.c.beginPath();
    this.c.moveTo(x1, y1);
    this.c.lineTo(x2, y2);
    this.c.stroke();
    if (dash.length) this.c.setLineDash([]);
  }

  shape(points: readonly number[], style: Paint): void {
    this.c.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) this.c.lineTo(points[i]!, points[i + 1]!);
    this.paint(style);
  }

  curve([x1, y1, x2, y2, x3, y3, x4, y4]: readonly number[], stroke: string, width: number): void {
    this.c.beginPath();
    this.c.moveTo(x1!, y1!);
    this.c.bezierCurveTo(x2!, y2!, x3!, y3!, x4!, y4!);
    this.stroke(stroke, width);
  }

  disc(x: number, y: number, r: number, style: Paint): void {
    this.c.beginPath();
    this.c.arc(x, y, r, 0, 2 * Math.PI);
    this.paint(style);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const shown = cut(this, text, style);
    if (!shown) return;
    this.c.font = font(style);
    this.c.textAlign = style.anchor === "end" ? "right" : style.anchor === "middle" ? "center" : "left";
    this.c.textBaseline = "alphabetic";
    this.c.fillStyle = style.fill;
    this.c.fillText(shown, x, y);
  }

  image(source: OffscreenCanvas, sx: number, sw: number, x: number, y: number, w: number, h: number): void {
    this.c.imageSmoothingEnabled = w * this.c.getTransform().a < sw * 0.95;
    this.c.drawImage(source, sx, 0, sw, source.height, x, y, w, h);
  }

  clip(x: number, y: number, w: number, h: number, inside: () => void): void {
    this.c.save();
    this.c.beginPath();
    this.c.rect(x, y, w, h);
    this.c.clip();
    inside();
    this.c.restore();
  }

  measure(text: string, style: TextStyle): number {
    const key = `${style.weight ?? 400} ${style.size ?? 11} ${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      this.c.font = font(style);
      width = this.c.measureText(text).width;
      if (this.widths.size > 4000) this.widths.clear();
      this.widths.set(key, width);
    }
    return width;
  }

  private paint({ fill, stroke, width = 1 }: Paint): void {
    if (fill) {
      this.c.fillStyle = fill;
      this.c.fill();
    }
    if (stroke) this.stroke(stroke, width);
  }

  private stroke(stroke: string, width: number): void {
    this.c.strokeStyle = stroke;
    this.c.lineWidth = width;
    this.c.stroke();
  }
}

/** The text as its style cuts it. */
export function cut(p: Pick<Painter, "measure">, text: string, style: TextStyle): string {
  return style.most === undefined ? text : ellipsis(text, style.most, (t) => p.measure(t, style));
}

/** The text, shortened to the width; empty if fewer than two letters fit. */
export function ellipsis(text: string, most: number, measure: (text: string) => number): string {
  if (measure(text) <= most) return text;
  const letters = first(1, text.length, (n) => measure(`${text.slice(0, n)}…`) > most) - 1;
  return letters >= 2 ? `${text.slice(0, letters)}…` : "";
}

export class SvgPainter implements Painter {
  private readonly out: string[] = [];
  private readonly defs: string[] = [];

  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly measurer: Painter,
    private readonly dataUrl: (source: OffscreenCanvas) => string,
  ) {}

  rect(x: number, y: number, w: number, h: number, fill: string): void {
    if (w > 0 && h > 0)
      this.out.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${fill}"/>`);
  }

  frame(x: number, y: number, w: number, h: number, stroke: string, width = 1): void {
    const [a, b, c, d] = [x + width / 2, y + width / 2, w - width, h - width];
    if (c > 0 && d > 0)
      this.out.push(
        `<rect x="${n(a)}" y="${n(b)}" width="${n(c)}" height="${n(d)}" fill="none" stroke="${stroke}" stroke-width="${n(width)}"/>`,
      );
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1, dash: number[] = []): void {
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.out.push(
      `<line x1="${n(x1)}" y1="${n(y1)}" x2="${n(x2)}" y2="${n(y2)}" stroke="${stroke}" stroke-width="${n(width)}"${dashes}/>`,
    );
  }

  shape(points: readonly number[], style: Paint): void {
    const tag = style.fill ? "polygon" : "polyline";
    this.out.push(`<${tag} points="${points.map(n).join(" ")}" ${paint(style)}/>`);
  }

  curve([x1, y1, x2, y2, x3, y3, x4, y4]: readonly number[], stroke: string, width: number): void {
    const path = `M${n(x1!)} ${n(y1!)}C${[x2!, y2!, x3!, y3!, x4!, y4!].map(n).join(" ")}`;
    this.out.push(`<path d="${path}" fill="none" stroke="${stroke}" stroke-width="${n(width)}"/>`);
  }

  disc(x: number, y: number, r: number, style: Paint): void {
    this.out.push(`<circle cx="${n(x)}" cy="${n(y)}" r="${n(r)}" ${paint(style)}/>`);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const shown = cut(this, text, style);
    if (!shown) return;
    const weight = style.weight ? ` font-weight="${style.weight}"` : "";
    this.out.push(
      `<text x="${n(x)}" y="${n(y)}" font-size="${style.size ?? 11}"${weight} text-anchor="${style.anchor ?? "start"}" fill="${style.fill}">${escapeXml(shown)}</text>`,
    );
  }

  image(source: OffscreenCanvas, sx: number, sw: number, x: number, y: number, w: number, h: number): void {
    const scale = w / sw;
    this.clip(x, y, w, h, () =>
      this.out.push(
        `<image x="${n(x - sx * scale)}" y="${n(y)}" width="${n(source.width * scale)}" height="${n(h)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${this.dataUrl(source)}"/>`,
      ),
    );
  }

  clip(x: number, y: number, w: number, h: number, inside: () => void): void {
    const id = `c${this.defs.length}`;
    this.defs.push(
      `<clipPath id="${id}"><rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, w))}" height="${n(Math.max(0, h))}"/></clipPath>`,
    );
    this.out.push(`<g clip-path="url(#${id})">`);
    inside();
    this.out.push("</g>");
  }

  measure(text: string, style: TextStyle): number {
    return this.measurer.measure(text, style);
  }

  finish(title: string): string {
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="Roboto, Inter, system-ui, sans-serif" font-size="11">`,
      `<title>${escapeXml(title)}</title>`,
      `<defs>${this.defs.join("")}</defs>`,
      ...this.out,
      "</svg>\n",
    ].join("\n");
  }
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function paint(style: Paint): string {
  const stroke = style.stroke ? ` stroke="${style.stroke}" stroke-width="${n(style.width ?? 1)}"` : "";
  return `fill="${style.fill ?? "none"}"${stroke}`;
}

/** Escapes text for XML. Characters that XML does not allow become U+FFFD. */
export function escapeXml(text: string): string {
  const named: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text
    .replace(
      /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      "\ufffd",
    )
    .replace(/[&<>"]/g, (c) => named[c]!);
}
