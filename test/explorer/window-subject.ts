import { FixedWindow, ManualClock, Region, SlidingLog, SlidingWindow } from '../../src/index.ts';
import type { WordReceipt } from '../../src/kernel/bucket/kernel.ts';
import { openWindowCell } from '../../src/kernel/window/cell.ts';
import { HostedWindow, type WindowEngine } from '../../src/kernel/window/host.ts';
import type { WindowKind } from '../../src/kernel/window/limit.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import {
  CELL,
  CELL_KINDS,
  RECORD_COUNT,
  REGION_HEADER_BYTES,
  WINDOW,
} from '../../src/memory/layout.ts';
import { claimRecords } from '../support/cell.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { operations, type Subject, verdict } from './subject.ts';

export { reference } from './window-reference.ts';

const CREATED_MS = 1000;
const INTERVAL_MS = 100;
const BYTES = 1024;
/** Int32 index of the time since creation, in milliseconds, behind the region. */
const CLOCK_AT = BYTES >> 2;

/** The largest limit of a reconfiguration. */
const MAX_LIMIT = 7;

/**
 * `setup` is `kind limit free`; the kind `double-burst` is a fixed window with that option. Slots
 * are 50 ms, two to the interval of 100 ms. `free` configuration records are free, by default all
 * but the live one; with one, every second reconfiguration writes the record that was live when an
 * operation began.
 */
export function create(setup: string): SharedArrayBuffer {
  const [kind, limit, free = RECORD_COUNT - 1] = setup.split(' ');
  // The region is as large as its limiter needs; the clock is at the end.
  const region = Region.create({ buffer: new SharedArrayBuffer(BYTES + 8) });
  const options = {
    limit: Number(limit),
    intervalMs: INTERVAL_MS,
    region,
    clock: ManualClock.create({ nowMs: CREATED_MS }),
  };
  const maxLimit = MAX_LIMIT;
  if (kind === 'fixed-window') FixedWindow.create(options);
  else if (kind === 'double-burst') FixedWindow.create({ ...options, allowDoubleBurst: true });
  else if (kind === 'sliding-log') SlidingLog.create({ ...options, maxLimit });
  else SlidingWindow.create({ ...options, maxLimit, slots: 2 });
  // The live record is the first.
  const others = 2 ** RECORD_COUNT - 2 ** (1 + Number(free));
  claimRecords(region.buffer, REGION_HEADER_BYTES + WINDOW.claims, others);
  return region.buffer;
}

function open(
  buffer: SharedArrayBuffer,
  kernel: ExploredKernel = 'atomics',
): { readonly window: HostedWindow; readonly kind: WindowKind } {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const number = region.i32[(offset + CELL.kind) >> 2];
  const kind = Object.entries(CELL_KINDS).find(([, n]) => n === number)?.[0] as WindowKind;
  const place = openWindowCell(region, offset, kind, nonceOf({ region, offset, bytes: 0 }));
  const engine = exploredEngine<WindowEngine>('window', kernel, region);
  return { window: new HostedWindow(engine, place), kind };
}

/** Operations are `[name, tokens, limit or milliseconds, interval]`. Readings of the clock are steps too. */
export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const { window, kind } = open(buffer, kernel);
  const isLog = kind === 'sliding-log';
  const clock = new Int32Array(buffer);
  const now = {
    us: Number.NaN,
    read() {
      this.us = (CREATED_MS + Atomics.load(clock, CLOCK_AT)) * 1000;
    },
  };
  let receipt: WordReceipt | undefined;
  return operations({
    advance(ms = 1) {
      Atomics.add(clock, CLOCK_AT, ms);
    },
    take(n = 1) {
      const isTaken = window.take(n, now);
      if (isTaken) receipt = window.receipt();
      return isTaken;
    },
    drain: (most = 1) => window.drain(most, now),
    cancel: () => (receipt === undefined ? null : window.cancel(receipt)),
    available: () => window.available(now),
    decide(n = 1) {
      const decision = window.decide(n, now);
      // A log admission finished by another thread counts from that thread's reading, but the log
      // computes its end from its own, which is later by up to the duration of the call.
      return verdict(isLog ? { ...decision, fullUs: 0 } : decision);
    },
    timeUntil: (n = 1) => `${window.timeUntil(n, now)}`, // Infinity does not survive JSON
    reconfigure(limit = 1, intervalMs = INTERVAL_MS) {
      window.reconfigure({ limit, intervalMs }, now);
    },
    return: (n = 1) => window.returnTokens(n, now),
  });
}

/** The tokens left now, and at the ends of the next intervals and slots. */
export function observe(buffer: SharedArrayBuffer): unknown {
  const { window } = open(buffer);
  const clock = new Int32Array(buffer)[CLOCK_AT] ?? 0;
  const at = (ms: number) =>
    window.available({ us: (CREATED_MS + clock + ms) * 1000, read: () => undefined });
  return [0, 50, 100, 150].map(at);
}
