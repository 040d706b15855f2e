import { type WindowOracle, windowOracle } from '../oracle/windows.ts';
import { operations, type Reference, type Subject } from './subject.ts';

// Faulty limiters that the explorer must detect: plain ports of other libraries. Words have 8
// bytes.

/** Int32 indices. */
const WORD = { fault: 0, limit: 2, clock: 4, state: 6 } as const;
const INTERVAL = 100;

/** Tokens are taken by a load and a store: two threads may take the same one. */
function loadThenStore(words: Int32Array, n: number): boolean {
  const tokens = Atomics.load(words, WORD.state);
  if (tokens < n) return false;
  Atomics.store(words, WORD.state, tokens - n);
  return true;
}

/** folly's borrow: takes by compare-and-exchange, but reads its debt with a second load. */
function twoLoadBorrow(words: Int32Array, n: number): number {
  Atomics.sub(words, WORD.state, n);
  return Math.max(0, -Atomics.load(words, WORD.state));
}

/**
 * The interval counter: `fetch_add` below the limit; past it, an exchange of the start opens the
 * next window, and then a store sets its count.
 */
function intervalCounter(words: Int32Array): boolean {
  const count = WORD.state;
  const start = WORD.state + 2;
  if (Atomics.add(words, count, 1) < (words[WORD.limit] ?? 0)) return true;
  const opened = Atomics.load(words, start);
  const now = Atomics.load(words, WORD.clock);
  if (now - opened < INTERVAL) return false;
  if (Atomics.compareExchange(words, start, opened, now) !== opened) return false;
  Atomics.store(words, count, 1);
  return true;
}

/** A log that finds room in one step and takes it in another. */
function twoStepLog(words: Int32Array): boolean {
  const limit = words[WORD.limit] ?? 0;
  const head = WORD.state;
  const now = Atomics.load(words, WORD.clock);
  const place = head + 2 + 2 * (Atomics.load(words, head) % limit);
  if (now - Atomics.load(words, place) < INTERVAL) return false;
  Atomics.store(words, place, now);
  Atomics.add(words, head, 1);
  return true;
}

const FAULTS = {
  'load-then-store': loadThenStore,
  'two-load-borrow': twoLoadBorrow,
  'interval-counter': intervalCounter,
  'two-step-log': twoStepLog,
};
const NAMES = Object.keys(FAULTS);

/** `setup` is the fault's name and the limit. */
export function create(setup: string): SharedArrayBuffer {
  const [fault = '', limit = '1'] = setup.split(' ');
  const buffer = new SharedArrayBuffer(256);
  const words = new Int32Array(buffer);
  words[WORD.fault] = NAMES.indexOf(fault);
  words[WORD.limit] = Number(limit);
  words[WORD.clock] = INTERVAL;
  const isBucket = fault === 'load-then-store' || fault === 'two-load-borrow';
  // The bucket is full, the window was opened long ago and is full, the log is empty.
  words[WORD.state] = fault === 'two-step-log' ? 0 : Number(limit);
  if (!isBucket) words[WORD.state + 2] = 0;
  return buffer;
}

export function attach(buffer: SharedArrayBuffer): Subject {
  const words = new Int32Array(buffer);
  const take = Object.values(FAULTS)[words[WORD.fault] ?? 0];
  return operations({
    advance(ms = 1) {
      Atomics.add(words, WORD.clock, ms);
    },
    take: (n = 1) => take?.(words, n),
  });
}

/** The answers to consecutive calls from now on; for buckets, the words. */
export function observe(buffer: SharedArrayBuffer): unknown {
  const words = new Int32Array(buffer);
  const isBucket = (words[WORD.fault] ?? 0) < 2;
  if (isBucket) return words[WORD.state];
  const one = attach(buffer);
  return Array.from({ length: (words[WORD.limit] ?? 0) + 1 }, () => one.run(['take', 1]));
}

/** For a bucket without a refill: `take` returns whether it succeeded, `borrow` the debt. */
function bucket(initial: number, borrows: boolean): Reference {
  let tokens = initial;
  const take = (n = 1) => {
    if (!borrows && tokens < n) return false;
    tokens -= n;
    return borrows ? Math.max(0, -tokens) : true;
  };
  return { attach: () => operations({ take }), observe: () => tokens };
}

function window(model: WindowOracle, limit: number): Reference {
  let now = INTERVAL;
  const take = () => model.attempt(1, 1, now) === 1;
  const advance = (time = 1) => {
    now += time;
  };
  return {
    attach: () => operations({ take, advance }),
    observe: () => Array.from({ length: limit + 1 }, take),
  };
}

/** The intended behaviour of the faulty limiters. `setup` is the limiter's name and its limit. */
export function reference(setup: string): Reference {
  const [fault, limitText = '1'] = setup.split(' ');
  const limit = Number(limitText);
  const options = { limit, intervalUs: INTERVAL, slots: 1 };
  if (fault === 'two-step-log') return window(windowOracle('sliding-log', options), limit);
  if (fault !== 'interval-counter') return bucket(limit, fault === 'two-load-borrow');
  const counter = windowOracle('fixed-window', options);
  counter.attempt(limit, limit, 0);
  return window(counter, limit);
}
