// A painter that lists its operations. crates/view/src/picture/drawing.rs reads the list.

import { cut, type Paint, type Painter, type TextStyle } from "../draw/painter";
import { host, type Canvas } from "./engine";

export class ListPainter implements Painter {
  readonly list: object[] = [];

  rect(x: number, y: number, w: number, h: number, fill: string): void {
    if (w > 0 && h > 0) this.list.push({ op: "rect", x, y, w, h, fill });
  }

  frame(x: number, y: number, w: number, h: number, stroke: string, width = 1): void {
    const [a, b, c, d] = [x + width / 2, y + width / 2, x + w - width / 2, y + h - width / 2];
    if (c > a && d > b) this.shape([a, b, c, b, c, d, a, d, a, b, c, b], { stroke, width });
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1, dash: number[] = []): void {
    this.list.push({ op: "path", points: [x1, y1, x2, y2], stroke, width, dash });
  }

  shape(points: readonly number[], { fill, stroke, width = 1 }: Paint): void {
    this.list.push({ op: "path", points, fill, stroke, width });
  }

  curve(points: readonly number[], stroke: string, width: number): void {
    this.list.push({ op: "curve", points, stroke, width });
  }

  disc(x: number, y: number, r: number, { fill, stroke, width = 1 }: Paint): void {
    this.list.push({ op: "disc", x, y, r, fill, stroke, width });
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const shown = cut(this, text, style);
    if (!shown) return;
    const share = style.anchor === "end" ? 1 : style.anchor === "middle" ? 0.5 : 0;
    const { size = 11, weight = 400, fill } = style;
    const start = x - share * this.measure(shown, style);
    this.list.push({ op: "text", x: start, y, text: shown, size, weight, fill });
  }

  image(source: OffscreenCanvas, sx: number, sw: number, x: number, y: number, w: number, h: number): void {
    const { width, height, pixels } = source as unknown as Canvas;
    const scale = w / sw;
    const image = host.keep(width, height, pixels);
    this.clip(x, y, w, h, () =>
      this.list.push({ op: "image", image, x: x - sx * scale, y, w: width * scale, h }),
    );
  }

  clip(x: number, y: number, w: number, h: number, inside: () => void): void {
    this.list.push({ op: "clip", x, y, w: Math.max(0, w), h: Math.max(0, h) });
    inside();
    this.list.push({ op: "end" });
  }

  measure(text: string, { size = 11, weight = 400 }: TextStyle): number {
    return host.measure(text, size, weight);
  }
}
