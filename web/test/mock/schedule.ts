// A generated schedule for tests of the page: programs that fork, run, sleep and wake, placed by
// two simplified policies. Not a simulation.

import type { Core, EventMark, Slice, TraceInfo } from "../../src/data/api";

export interface Waiting {
  core: number;
  from: number;
  to: number;
}

export interface Membership extends Waiting {
  set: number;
}

export interface Schedule {
  info: TraceInfo;
  names: Map<number, { name: string; parent: number | null; traced: boolean; names: string[] }>;
  /** By core, in order of time. */
  slices: Slice[][];
  waiting: Waiting[][];
  sets: Membership[][];
  marks: EventMark[];
}

export interface Asked {
  name: string;
  cores: number;
  /** Nanoseconds. */
  duration: number;
  spread: boolean;
  seed: number;
  lossy?: boolean;
  /** A machine without frequency counters. */
  blind?: boolean;
}

export const HOSTILE = `<img src=x onerror="window.hacked=1">`;
const PROGRAMS = [
  "make",
  "cc1",
  "as",
  "ld",
  "sh",
  "configure",
  "grep",
  "sed",
  HOSTILE,
  '\u202egnp.exe\u0007 & <b>"bold"</b>',
  "x".repeat(300),
];

/** The random number generator Mulberry32: deterministic on all platforms. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function topology(cores: number): Core[] {
  const sockets = cores <= 8 ? 1 : cores <= 160 ? 4 : 8;
  const perSocket = cores / sockets;
  const dies = cores >= 640 ? 2 : 1;
  return Array.from({ length: cores }, (_, i) => {
    const socket = Math.floor((i % (cores / 2)) / (perSocket / 2));
    const physical = i % (cores / 2);
    const die = dies === 1 ? socket : socket * 2 + (physical % (perSocket / 2) < perSocket / 4 ? 0 : 1);
    return { physical, llc: die, numa: socket, socket };
  });
}

interface Thread {
  tid: number;
  parent: number | null;
  core: number;
  left: number;
  children: number;
}

export function schedule(asked: Asked): Schedule {
  const rand = random(asked.seed);
  const cores = topology(asked.cores);
  const n = asked.cores;
  const slices: Slice[][] = cores.map(() => []);
  const waiting: Waiting[][] = cores.map(() => []);
  const marks: EventMark[] = [];
  const names: Schedule["names"] = new Map();
  const free = new Float64Array(n);
  const heat = new Float64Array(n);
  const ready: { time: number; thread: Thread; waker: number | null; wakerCore: number; fork: boolean }[] =
    [];
  let tids = 100;
  let turn = 0;
  const push = (entry: (typeof ready)[number]) => {
    let i = ready.length;
    while (i > 0 && ready[i - 1]!.time < entry.time) i--;
    ready.splice(i, 0, entry);
  };
  const born = (parent: Thread | null, time: number, core: number): void => {
    const tid = tids++;
    const program = PROGRAMS[tid < 100 + PROGRAMS.length ? tid - 100 : Math.floor(rand() ** 2 * 8)]!;
    names.set(tid, {
      name: program,
      parent: parent?.tid ?? null,
      traced: rand() < 0.9,
      names: ["sh", program],
    });
    push({
      time,
      thread: {
        tid,
        parent: parent?.tid ?? null,
        core,
        left: 3 + Math.floor(rand() * 12),
        children: parent ? 0 : 1e9,
      },
      waker: parent?.tid ?? null,
      wakerCore: core,
      fork: true,
    });
    if (parent)
      marks.push({ time, core, kind: "fork", thread: parent.tid, other: tid, target: core, detail: null });
  };
  const jobs = Math.max(2, Math.round(n / 10));
  for (let i = 0; i < jobs; i++) born(null, Math.round(rand() * 1e6), i % n);

  const choose = (last: number, time: number): [number, number] => {
    if (rand() < 0.03) return [last, 3];
    if (!asked.spread) {
      if (free[last]! <= time && heat[last]! > 0) return [last, 0];
      for (let core = 0; core < Math.min(n, jobs * 2 + 4); core++)
        if (free[core]! <= time) return [core, heat[core]! > 0 ? 1 : 2];
    }
    for (let tries = 0; tries < 8; tries++) {
      turn = (turn + 1 + Math.floor(rand() * 7)) % n;
      if (free[turn]! <= time) return [turn, 3];
    }
    return [last, 3];
  };

  while (ready.length > 0) {
    const { time, thread, waker, wakerCore, fork } = ready.pop()!;
    if (time >= asked.duration) continue;
    const [core, reason] = choose(thread.core, time);
    const queued = free[core]! > time;
    let target = core;
    if (queued && rand() < 0.5) {
      const other = (core + 1) % n;
      if (free[other]! <= time + 50_000) {
        target = other;
        marks.push({
          time: time + 40_000,
          core: other,
          kind: "migrate",
          thread: thread.tid,
          other: null,
          target: other,
          detail: core,
        });
      }
    }
    const at = Math.max(time + (target === core ? 0 : 40_000), free[target]!);
    const begin = Math.round(at + 1500 + rand() * 12_000);
    if (begin - time > 20_000) waiting[core]!.push({ core, from: time, to: begin });
    const length = Math.round(20_000 + rand() ** 3 * 4e6);
    const end = Math.min(begin + length, asked.duration);
    if (end <= begin) continue;
    heat[target] = asked.spread ? 0.3 + 0.4 * rand() : Math.min(1, heat[target]! + 0.2);
    const khz = asked.blind ? 0 : Math.round(1000 + 2900 * heat[target]!) * 1000;
    if (!fork)
      marks.push({
        time,
        core: wakerCore,
        kind: "wakeup",
        thread: thread.tid,
        other: waker,
        target: core,
        detail: null,
      });
    marks.push({
      time,
      core: wakerCore,
      kind: "place",
      thread: thread.tid,
      other: null,
      target: core,
      detail: reason,
    });
    const ends = --thread.left <= 0 && thread.children < 1e9;
    slices[target]!.push({
      core: target,
      thread: thread.tid,
      from: begin,
      to: end,
      khz,
      stop: ends ? "exited" : "blocked",
      wake: { time, waker, core: wakerCore, from_core: thread.core },
      reason,
    });
    free[target] = end;
    thread.core = target;
    if (fork)
      marks.push({
        time: begin + 2000,
        core: target,
        kind: "exec",
        thread: thread.tid,
        other: null,
        target: null,
        detail: null,
      });
    if (ends) {
      marks.push({
        time: end,
        core: target,
        kind: "exit",
        thread: thread.tid,
        other: null,
        target: null,
        detail: null,
      });
      continue;
    }
    const children = thread.children >= 1e9 ? (rand() < 0.5 ? 1 : 0) : rand() < 0.08 ? 1 : 0;
    for (let i = 0; i < children; i++) born(thread, Math.round(begin + (end - begin) * rand()), target);
    const byTimer = rand() < 0.4;
    push({
      time: Math.round(end + rand() ** 2 * 8e6),
      thread,
      waker: byTimer ? null : 100 + Math.floor(rand() * Math.min(jobs, 10)),
      wakerCore: byTimer ? target : Math.floor(rand() * n),
      fork: false,
    });
  }
  marks.sort((a, b) => a.time - b.time);
  const lost = cores.map((_, core) => (asked.lossy && core % 7 === 3 ? 17 * (core + 1) : 0));
  const events = slices.reduce((sum, list) => sum + 2 * list.length, marks.length);
  const info: TraceInfo = {
    name: asked.name,
    machine: `made-up-${n}`,
    source: "mock",
    duration: asked.duration,
    events,
    lost,
    inferred: asked.lossy ? 5 : 0,
    frequency_known: !asked.blind,
    energy: energyOf(slices, asked.duration),
    energy_measured: asked.blind ?? false,
    traced_threads: [...names.values()].filter(({ traced }) => traced).length,
    cores,
    reasons: ["attached", "primary", "reserve", "cfs"],
    sets: asked.spread ? [] : ["primary", "reserve"],
    khz_range: asked.blind ? [0, 0] : [1_000_000, 3_900_000],
    threads: names.size,
    levels: { finest_stored: 4, coarsest: coarsest(asked.duration) },
    complete: !asked.lossy,
    sql: !asked.blind,
    warnings: [],
  };
  return {
    info,
    names,
    slices,
    waiting,
    sets: slices.map((list) => (asked.spread ? [] : membership(list, asked.duration))),
    marks,
  };
}

/** Samples of a machine that needs 20 W, and 5 W more for each busy core. */
function energyOf(slices: readonly Slice[][], duration: number): [number, number][] {
  const [count, samples] = [100, [] as [number, number][]];
  let uj = 0;
  for (let i = 0; i < count; i++) {
    const [from, to] = [(duration * i) / count, (duration * (i + 1)) / count];
    let busy = 0;
    for (const slice of slices.flat())
      if (slice.thread !== 0) busy += Math.max(0, Math.min(to, slice.to) - Math.max(from, slice.from));
    uj += (20 * (to - from) + 5 * busy) / 1e3;
    samples.push([Math.round(to), Math.round(uj)]);
  }
  return samples;
}

export function coarsest(duration: number): number {
  return Math.max(0, Math.ceil((Math.log2(duration / 256) - 10) / 2));
}

/** Primary until 8 ms after the last use, then reserve. */
function membership(slices: readonly Slice[], duration: number): Membership[] {
  const out: Membership[] = [];
  for (const { core, from, to } of slices) {
    const last = out[out.length - 1];
    if (last && last.set === 1 && last.from < from) last.to = Math.min(last.to, from);
    const primary = out.filter((m) => m.set === 0).pop();
    if (primary && primary.to >= from) {
      primary.to = Math.min(duration, to + 8e6);
      if (last && last !== primary) out.splice(out.indexOf(last), 1);
    } else out.push({ core, set: 0, from, to: Math.min(duration, to + 8e6) });
    const open = out[out.length - 1]!;
    out.push({ core, set: 1, from: open.to, to: Math.min(duration, open.to + 40e6) });
  }
  return out;
}
