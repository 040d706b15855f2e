import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock, systemClock } from '../../src/index.ts';
import { handleFor, KERNEL_MIXES, type KernelMix } from '../support/kernels.ts';
import { IN_FULL, part } from '../support/random.ts';
import { type AnyWindow, WINDOW_KINDS } from '../support/window-kinds.ts';
import { type Admission, brokenLog, brokenSlots } from '../support/window-promises.ts';
import { Gate, nextMessage, startThread } from '../support/window-threads.ts';
import type { TrafficData, TrafficRound } from '../workers/window-traffic.ts';

const THREADS = 4;
const SLOTS = 4;

type Options = Pick<TrafficData, 'maxTokens' | 'stepUs'>;

/** Four threads that call a limiter as fast as they can. */
class Traffic {
  readonly threads: Worker[] = [];
  readonly admissions: Admission[] = [];
  readonly #start = new Gate();
  readonly #stop = new Gate();
  readonly #tally = new SharedArrayBuffer(4);
  readonly #limiter: AnyWindow;
  readonly #kernels: KernelMix;

  constructor(limiter: AnyWindow, kernels: KernelMix) {
    this.#limiter = limiter;
    this.#kernels = kernels;
  }

  /** Resolves when all threads have reached the gate. */
  async prepare(options: Options): Promise<void> {
    const data: Omit<TrafficData, 'handle'> = {
      start: this.#start.buffer,
      stop: this.#stop.buffer,
      tally: this.#tally,
      ...options,
    };
    for (let me = 0; me < THREADS; me++) {
      const handle = handleFor(this.#limiter.handle, this.#kernels, me);
      this.threads.push(startThread('window-traffic', { ...data, handle } satisfies TrafficData));
    }
    await Promise.all(this.threads.map((thread) => nextMessage(thread)));
  }

  start(): void {
    this.#start.open();
  }

  /** Tokens admitted, as far as the threads know. */
  get told(): number {
    return Atomics.load(new Int32Array(this.#tally), 0);
  }

  /**
   * Runs until the threads have raced and have made enough calls, and all have ended. Calls
   * `between` after each round of a thread.
   */
  async untilRacesWereLost(between?: () => void): Promise<void> {
    let rounds = 0;
    const ends = this.threads.map((thread) => {
      thread.on('message', (round: TrafficRound) => {
        for (let i = 0; i < round.length; i += 2) {
          this.admissions.push({ atUs: round[i] as number, n: round[i + 1] as number });
        }
        rounds++;
        between?.();
        if (rounds >= 10 * THREADS && this.#limiter.stats().lostRaces > 0) this.#stop.open();
      });
      return once(thread, 'exit');
    });
    this.start();
    for (const [code] of await Promise.all(ends)) expect(code).toBe(0);
  }

  async terminate(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.terminate()));
  }
}

const running: Traffic[] = [];
function traffic(limiter: AnyWindow, kernels: KernelMix): Traffic {
  const made = new Traffic(limiter, kernels);
  running.push(made);
  return made;
}
afterEach(async () => {
  for (const made of running.splice(0)) await made.terminate();
});

describe.each(WINDOW_KINDS)('$kind on four threads', ({ create }) => {
  it.each(KERNEL_MIXES)(
    'admits exactly the limit at one instant: $mix kernels',
    async ({ kernels }) => {
      const clock = ManualClock.create();
      const limit = 20_000;
      const limiter = create({ limit, intervalMs: 10, slots: SLOTS, clock, stats: true });
      const calls = traffic(limiter, kernels);
      await calls.prepare({ maxTokens: 3, stepUs: 0 });
      // Try again if no two threads raced before the limit was reached.
      let instants = 1;
      await calls.untilRacesWereLost(() => {
        if (calls.told < instants * limit || limiter.stats().lostRaces > 0) return;
        clock.advance(10);
        instants++;
      });
      expect(limiter.stats().lostRaces).toBeGreaterThan(0);
      limiter.consumeOrDrain(limit);
      expect(limiter.stats().admitted).toBe(instants * limit);
      clock.advance(10);
      expect(limiter.available()).toBe(limit);
    },
  );

  it.each(KERNEL_MIXES)(
    'is left in a valid state by threads terminated at any instant: $mix kernels',
    async ({ kernels }) => {
      const clock = ManualClock.create();
      const limit = 100_000;
      const maxTokens = 8;
      const limiter = create({ limit, intervalMs: 10, slots: SLOTS, clock });
      for (let round = 0; round < part(10, 2); round++) {
        const calls = traffic(limiter, kernels);
        await calls.prepare({ maxTokens, stepUs: 0 });
        calls.start();
        const until = systemClock.now() + Math.random() * 4_000;
        while (systemClock.now() < until);
        await calls.terminate();
        const rest = limiter.consumeOrDrain(limit);
        // A thread is killed in at most one call.
        expect(calls.told + rest).toBeLessThanOrEqual(limit);
        expect(calls.told + rest).toBeGreaterThanOrEqual(limit - THREADS * maxTokens);
        expect(limiter.available()).toBe(0);
        expect(limiter.tryConsume()).toBe(false);
        // A fixed window of this limit counts units of 64 microseconds.
        clock.advance(11);
        expect(limiter.available()).toBe(limit);
      }
    },
  );
});

const EACH_TRAFFIC = [
  { clockOf: 'the system', limit: 50, intervalMs: 0.5, kernels: ['wasm', 'atomics'] },
  { clockOf: 'one that the threads move', limit: 50, intervalMs: 0.5, kernels: ['wasm'] },
  { clockOf: 'the system', limit: 1, intervalMs: 0.02, kernels: ['wasm'] },
  {
    clockOf: 'one that the threads move',
    limit: 3,
    intervalMs: 0.02,
    kernels: ['wasm', 'atomics'],
  },
  { clockOf: 'the system', limit: 50, intervalMs: 0.5, kernels: ['atomics'] },
] as const satisfies readonly { kernels: KernelMix; [of: string]: unknown }[];
/** In `npm test` one with each clock. */
const TRAFFIC = EACH_TRAFFIC.filter((_, index) => IN_FULL || index < 2);

const SLIDING = WINDOW_KINDS.filter(({ kind }) => kind !== 'fixed-window');

describe.each(SLIDING)('$kind under random traffic of four threads', ({ kind, create }) => {
  it.each(TRAFFIC)(
    'never admits more than $limit in $intervalMs ms, by the clock of $clockOf: $kernels',
    async (test) => {
      const { limit, intervalMs, kernels } = test;
      const manual = test.clockOf !== 'the system';
      const clock = manual ? ManualClock.create() : systemClock;
      const readings: number[] = [];
      // The limiter's first reading is its creation.
      const watched = Object.create(clock, {
        now: {
          value: () => {
            const nowUs = clock.now();
            readings.push(nowUs);
            return nowUs;
          },
          writable: true,
        },
        handle: { value: clock.handle },
      });
      const limiter = create({ limit, intervalMs, slots: SLOTS, clock: watched, stats: true });
      const bornUs = readings[0] as number;
      const calls = traffic(limiter, kernels);
      await calls.prepare({ maxTokens: Math.min(3, limit), stepUs: manual ? 20 : 0 });
      await calls.untilRacesWereLost();
      const { admissions } = calls;
      expect(limiter.stats().lostRaces).toBeGreaterThan(0);
      expect(admissions.length).toBeGreaterThan(100);
      const evidence = {
        limit,
        intervalUs: intervalMs * 1000,
        slots: SLOTS,
        admissions,
        changes: [],
        deaths: 0,
      };
      const broken = kind === 'sliding-log' ? brokenLog(evidence) : brokenSlots(evidence, bornUs);
      expect(broken).toBe('');
    },
  );
});
