// `hearth view` and other servers that print their address, started and watched.

import { spawn, type SpawnOptions } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";

export interface Served {
  address: string;
  /** From its start until it printed the address, in ms. */
  opened: number | null;
  /** The most memory that it had so far, in bytes. */
  memory(): number | null;
  /** CPU time that it took so far, in ms. */
  cpu(): number;
  stop(): void;
}

/** Runs `hearth view` with these traces or this policy. */
export function serve(hearth: string, args: readonly string[], options?: SpawnOptions): Promise<Served> {
  return start(hearth, ["view", "--no-open", ...args], options);
}

export function start(
  program: string,
  args: readonly string[] = [],
  options: SpawnOptions = {},
): Promise<Served> {
  const began = performance.now();
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (status) => reject(new Error(`${program} ended with ${status}`)));
    child.stdout!.setEncoding("utf8").once("data", (line: string) =>
      resolve({
        address: line.trim(),
        opened: performance.now() - began,
        memory: () => peak(child.pid!),
        cpu: () => cpu(child.pid!),
        stop: () => child.kill("SIGINT"),
      }),
    );
  });
}

/** The most memory that a process had so far; `null` where the system does not tell. */
export function peak(pid: number): number | null {
  try {
    return 1024 * Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
  } catch {
    return null;
  }
}

/** CPU time of a process's threads in ms; those that have ended are left out. 0 where the system does not tell. */
export function cpu(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).map((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8"),
    );
    return threads.reduce((sum, stat) => sum + Number(stat.split(" ")[0]) / 1e6, 0);
  } catch {
    return 0;
  }
}
