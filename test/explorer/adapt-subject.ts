import {
  configurationOf,
  createSemaphoreCell,
  openSemaphoreCell,
} from '../../src/kernel/semaphore/cell.ts';
import { LatencyWindow } from '../../src/kernel/semaphore/latency-window.ts';
import type { SemaphoreEngine } from '../../src/kernel/semaphore/owners.ts';
import { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { operations, type Reference, type Subject } from './subject.ts';

/** The latency of every call. */
const LATENCY_MS = 10;
/** The number before a window is closed. */
const MANY = 100;

/** `setup` is the number of calls that have ended in the window. A window is due after one. */
export function create(setup: string): SharedArrayBuffer {
  const region = Region.create({ buffer: new SharedArrayBuffer(4096) });
  const state = { number: MANY, needed: 1 };
  const adaptive = { adapts: 1, window: { min: 1, max: MANY, state } };
  createSemaphoreCell({
    ...{ permits: 1, waiters: 8, maxPermits: MANY, holdMs: 0, originUs: 0 },
    ...{ stats: false, region, adaptive },
  });
  const window = open(region.buffer);
  for (let call = 0; call < Number(setup); call++) window.add(0, LATENCY_MS * 1000);
  return region.buffer;
}

function open(buffer: SharedArrayBuffer, kernel: ExploredKernel = 'atomics'): LatencyWindow {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  const place = openSemaphoreCell(region, offset, 'semaphore', nonce);
  const { engine } = exploredEngine<SemaphoreEngine>('semaphores', kernel, region);
  return new LatencyWindow(engine, place, configurationOf(place));
}

export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const window = open(buffer, kernel);
  return operations({
    add: () => void window.add(0, LATENCY_MS * 1000, 2),
    /** Chooses the number of calls that it took, unless another close took them. */
    close() {
      const closed = window.close(LATENCY_MS * 1000);
      if (closed === undefined) return 0;
      const { count, sumMs } = closed;
      if (sumMs !== count * LATENCY_MS) throw new Error(`${count} calls of ${sumMs} ms`);
      window.put('number', count);
      return count;
    },
  });
}

/** The calls left in the window, and the number. */
export function observe(buffer: SharedArrayBuffer): unknown {
  const window = open(buffer);
  const number = window.value('number');
  return [number, window.close(LATENCY_MS * 1000)?.count ?? 0];
}

/** A window of latencies: each call is taken by one close, and the last close chooses the number. */
export function reference(setup: string): Reference {
  let calls = Number(setup);
  let number = MANY;
  return {
    attach: () =>
      operations({
        add() {
          calls++;
        },
        close() {
          const taken = calls;
          calls = 0;
          if (taken > 0) number = taken;
          return taken;
        },
      }),
    observe: () => [number, calls],
  };
}
