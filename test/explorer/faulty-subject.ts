import type { Operation, Subject } from './subject.ts';

/** `setup` is which fault, and the limit. */
export function create(setup: string): SharedArrayBuffer {
  const [fault, limit = '1'] = setup.split(' ');
  const buffer = new SharedArrayBuffer(64);
  const words = new Int32Array(buffer);
  words[0] = ['load-then-store', 'two-load-borrow'].indexOf(fault ?? '');
  words[1] = Number(limit);
  return buffer;
}

/** Tokens are taken by a load and a store: two threads may take the same one. */
function loadThenStore(words: Int32Array, n: number): boolean {
  const tokens = Atomics.load(words, 1);
  if (tokens < n) return false;
  Atomics.store(words, 1, tokens - n);
  return true;
}

/** folly's borrow: takes by compare-and-exchange, but reads what it owes in a second load. */
function twoLoadBorrow(words: Int32Array, n: number): number {
  Atomics.sub(words, 1, n);
  return Math.max(0, -Atomics.load(words, 1));
}

export function attach(buffer: SharedArrayBuffer): Subject {
  const words = new Int32Array(buffer);
  const faults = [loadThenStore, twoLoadBorrow];
  return { run: ([, n = 1]: Operation) => faults[words[0] ?? 0]?.(words, n) };
}

export function observe(buffer: SharedArrayBuffer): unknown {
  return new Int32Array(buffer)[1];
}
