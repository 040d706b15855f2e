import { describe, expect, it } from 'vitest';
import {
  allOf,
  type Permit,
  Region,
  Semaphore,
  type SemaphoreOptions,
  TokenBucket,
} from '../../src/index.ts';
import { KINDS, takerOf } from '../support/kinds.ts';
import { FailingClock } from '../support/own-clock.ts';
import { settled } from '../support/settled.ts';

interface Waited {
  wait(): Promise<unknown>;
  /** Wakes the waiting callers. */
  change(): void;
}

type Create = (clock: FailingClock) => Waited;

const WAITED: readonly (readonly [name: string, create: Create])[] = [
  ...KINDS.flatMap(({ name, create, change }): [string, Create][] => {
    if (change === undefined) return [];
    const made = (clock: FailingClock) => {
      const one = create({ limit: 2, refillMs: 200, clock, kernel: 'wasm' });
      const taker = takerOf(one);
      taker.tryConsume(2);
      return { wait: () => taker.wait(), change: () => change(one, 1, 1) };
    };
    return [[name, made]];
  }),
  [
    'allOf',
    (clock) => {
      const bucket = TokenBucket.create({ rate: 10, burst: 1, initial: 0, clock });
      const both = allOf(bucket, TokenBucket.create({ rate: 10, burst: 1, clock }));
      return { wait: () => both.wait(), change: () => bucket.reconfigure({ rate: 20 }) };
    },
  ],
];

it.each(WAITED)('waits on a %s end, if the clock throws at any reading', async (_, create) => {
  let failures = 0;
  for (;;) {
    const clock = new FailingClock();
    const { wait, change } = create(clock);
    clock.failAfter(failures);
    const waits = Promise.allSettled([wait(), wait()]);
    await settled(20);
    try {
      change();
    } catch (error) {
      expect(error).toMatchObject({ message: 'no time' });
    }
    for (let i = 0; i < 12; i++) {
      await settled(20);
      clock.advance(50);
    }
    // An error that reaches nobody fails the run.
    const late = settled(300).then(() => 'late' as const);
    const ends = await Promise.race([waits, late]);
    if (ends === 'late') throw new Error(`no end after reading ${failures}`);
    for (const end of ends) {
      if (end.status === 'rejected') expect(end.reason).toMatchObject({ message: 'no time' });
    }
    if (!clock.hasFailed) break;
    failures++;
  }
  expect(failures).toBeGreaterThan(3);
});

const OPTIONS: readonly (readonly [name: string, options: SemaphoreOptions])[] = [
  ['with holdMs', { permits: 3, holdMs: 50 }],
  ['that adapts', { permits: { min: 3, max: 3 }, adapt: 'gradient' }],
  ['that adapts, with holdMs', { permits: { min: 3, max: 3 }, adapt: 'aimd', holdMs: 50 }],
];

/** A caller of a semaphore that releases what it got, whatever happens. */
class Caller {
  readonly #semaphore: Semaphore;
  readonly #permits: Permit[] = [];
  readonly #waits: Promise<unknown>[] = [];

  constructor(semaphore: Semaphore) {
    this.#semaphore = semaphore;
  }

  #keep(permit: Permit | undefined): void {
    if (permit !== undefined) this.#permits.push(permit);
  }

  take(n: number): void {
    this.#keep(this.#semaphore.tryAcquire(n));
  }

  wait(n: number): void {
    const wait = this.#semaphore.acquire(n).then((permit) => this.#keep(permit));
    this.#waits.push(wait.catch(() => undefined));
  }

  block(n: number): void {
    this.#keep(this.#semaphore.acquireSync(n, { timeoutMs: 0 }));
  }

  release(): void {
    for (const permit of this.#permits.splice(0)) {
      try {
        permit.release();
      } catch {
        // The clock failed, or the permit has expired.
      }
    }
  }

  async end(): Promise<void> {
    this.release();
    await settled(20);
    this.release();
    await Promise.all(this.#waits);
    this.release();
  }
}

type Scene = (caller: Caller, clock: FailingClock) => void;

const SCENES: readonly (readonly [name: string, scene: Scene])[] = [
  ['tryAcquire', (caller) => caller.take(3)],
  [
    'acquire',
    (caller, clock) => {
      for (const n of [2, 1]) caller.take(n);
      for (const n of [1, 2]) caller.wait(n);
      clock.advance(1);
      caller.release();
    },
  ],
  [
    'acquireSync',
    (caller, clock) => {
      for (const n of [3, 1]) caller.block(n);
      clock.advance(60);
      caller.block(1);
    },
  ],
];

describe.each(['wasm', 'atomics'] as const)('a semaphore, with kernel %s,', (kernel) => {
  describe.each(OPTIONS)('%s,', (_, options) => {
    it.each(SCENES)('loses no permit if the clock throws at any reading: %s', async (_, scene) => {
      let failures = 0;
      for (;;) {
        const clock = new FailingClock();
        const semaphore = Semaphore.create({ ...options, clock, kernel, region: Region.create() });
        const caller = new Caller(semaphore);
        clock.failAfter(failures);
        try {
          scene(caller, clock);
        } catch (error) {
          expect(error).toMatchObject({ message: 'no time' });
        }
        await caller.end();
        if (!clock.hasFailed) break;
        expect([semaphore.inUse(), semaphore.waiting], `reading ${failures}`).toEqual([0, 0]);
        failures++;
      }
      expect(failures).toBeGreaterThan(1);
    });
  });
});
