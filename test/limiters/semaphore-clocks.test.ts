import { describe, expect, it } from 'vitest';
import { type Permit, Region, Semaphore, type SemaphoreOptions } from '../../src/index.ts';
import { FailingClock } from '../support/own-clock.ts';
import { settled } from '../support/settled.ts';

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
