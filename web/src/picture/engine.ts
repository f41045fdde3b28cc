// What the drawing code uses of a browser, for an engine that has none of it.

/** The functions of the program that runs the engine (crates/view/src/picture/engine.rs). */
export interface Host {
  /** Answers a request to the viewer's API: status, and JSON as text or the bytes of a tile. */
  get(path: string): [number, string | ArrayBuffer];
  /** Width of a text in pixels. */
  measure(text: string, size: number, weight: number): number;
  /** A data URL of the picture as PNG. */
  png(width: number, height: number, pixels: ArrayBuffer): string;
  /** Keeps the pixels of a picture; returns its number. */
  keep(width: number, height: number, pixels: ArrayBuffer): number;
}

export const host = (globalThis as unknown as { host: Host }).host;

class Pixels {
  readonly data: Uint8ClampedArray;
  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.data = new Uint8ClampedArray(width * height * 4);
  }
}

/** A canvas that can only hold one picture. */
export class Canvas {
  pixels = new ArrayBuffer(0);
  constructor(
    readonly width: number,
    readonly height: number,
  ) {}
  getContext() {
    return { putImageData: ({ data }: Pixels) => (this.pixels = data.buffer as ArrayBuffer) };
  }
}

/** Only what links need. */
class Parameters {
  private readonly values = new Map<string, string>();
  constructor(text: string) {
    for (const part of text.split("&")) {
      const [key, value] = part.split(/=(.*)/s) as [string, string | undefined];
      const plain = (value ?? "").replace(/\+/g, " ");
      if (!this.values.has(key)) this.values.set(key, decodeURIComponent(plain));
    }
  }
  get(key: string): string | null {
    return this.values.get(key) ?? null;
  }
}

async function answer(path: string) {
  const [status, body] = host.get(path);
  return {
    ok: status === 200,
    status,
    json: async () => JSON.parse(body as string) as unknown,
    arrayBuffer: async () => body,
  };
}

Object.assign(globalThis, {
  ImageData: Pixels,
  OffscreenCanvas: Canvas,
  URLSearchParams: Parameters,
  AbortController: class {},
  fetch: answer,
  // Timers only redraw, which nobody waits for.
  setTimeout: () => 1,
});
