import {
  allOf,
  attach,
  type ClockHandle,
  type LimiterHandle,
  ManualClock,
  systemClock,
} from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { serveOneOf } from '../support/serve.ts';

// Jobs of threads that read, move or stop a clock.

export interface Advanced {
  /**
   * How often another thread moved the clock between this thread's move and the reading before it.
   */
  readonly interleaved: number;
  /** This thread's reading of the system clock. */
  readonly systemUs: number;
}

/** Advances a clock by a millisecond at a time, together with other threads. */
function advance(
  { clock: handle, times }: { clock: ClockHandle; times: number },
  _: number,
  meet: () => void,
): Advanced {
  const systemUs = systemClock.now();
  const clock = ManualClock.attach(handle);
  meet();
  let interleaved = 0;
  for (let i = 0; i < times; i++) {
    const before = clock.nowMs;
    clock.advance(1);
    if (clock.nowMs > before + 1) interleaved++;
  }
  return { interleaved, systemUs };
}

export interface ReadTimes {
  /** The most that a reading was ahead of a later reading of the system clock. */
  readonly mostAheadUs: number;
  /** The most that a reading was behind the previous one. */
  readonly mostBackUs: number;
  /** Readings equal to the previous one, which readings of the system clock hardly ever are. */
  readonly repeated: number;
}

/** Compares a limiter's ticker clock with the system clock, together with other threads. */
function readTicker(
  { handle, readings }: { handle: LimiterHandle<'token-bucket'>; readings: number },
  _: number,
  meet: () => void,
): ReadTimes {
  const { clock } = attach(handle);
  meet();
  let mostAheadUs = Number.NEGATIVE_INFINITY;
  let mostBackUs = Number.NEGATIVE_INFINITY;
  let repeated = 0;
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < readings; i++) {
    const us = clock.now();
    mostAheadUs = Math.max(mostAheadUs, us - systemClock.now());
    mostBackUs = Math.max(mostBackUs, last - us);
    if (us === last) repeated++;
    last = us;
  }
  return { mostAheadUs, mostBackUs, repeated };
}

interface SleepJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  /** A second limiter that must also admit. */
  readonly also?: LimiterHandle<'token-bucket'>;
  readonly call: 'wait' | 'waitSync';
  readonly waits: number;
  /** The thread arrives here after each wait. */
  readonly ended?: SharedArrayBuffer;
}

/**
 * Waits for tokens, and reports the instants, in microseconds of the bucket's clock, at which it got
 * them.
 */
async function sleep({ handle, also, call, waits, ended }: SleepJob): Promise<readonly number[]> {
  const bucket = attach(handle);
  const limiter = also === undefined ? bucket : allOf(bucket, attach(also));
  const gate = new Gate(ended);
  const endedAt: number[] = [];
  for (let i = 0; i < waits; i++) {
    if (call === 'wait') await limiter.wait();
    else limiter.waitSync();
    endedAt.push(bucket.clock.now());
    gate.arrive();
  }
  return endedAt;
}

interface OfKeyJob {
  readonly handle: LimiterHandle<'keyed-token-bucket' | 'keyed-limit-set' | 'keyed-fixed-window'>;
  readonly key: string;
  readonly call: 'wait' | 'waitSync';
  /** The thread arrives here before it waits. */
  readonly started: SharedArrayBuffer;
}

/** Waits for a token of a key; the answer is the clock afterwards, in microseconds. */
async function sleepOfKey({ handle, key, call, started }: OfKeyJob): Promise<number> {
  const table = attach(handle);
  new Gate(started).arrive();
  await table[call](key);
  return table.clock.now();
}

/** Leaves something for the thread's next job. */
const LITTER = {
  'a global': () => Object.assign(globalThis, { litter: () => undefined }),
  'a variable': () => Object.assign(process.env, { LITTER: '1' }),
  'another function': () => Object.assign(Math, { random: () => 0.5 }),
  'a timer': () => setInterval(() => undefined, 1e6),
} as const;

function litter({ what }: { what: keyof typeof LITTER }): void {
  LITTER[what]();
}

export const JOBS = { advance, readTicker, sleep, sleepOfKey, litter };
serveOneOf(JOBS);
