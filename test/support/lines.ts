import {
  LeakyBucket,
  type Limiter,
  LimitSet,
  ManualClock,
  TokenBucket,
  type WaitOptions,
} from '../../src/index.ts';
import { settled } from './settled.ts';

/** Buckets that grant the next token every 10 ms. */
export const LINES = {
  'a token bucket': (clock: ManualClock) =>
    TokenBucket.create({ rate: 100, burst: 10, initial: 0, clock }),
  'a limit set': (clock: ManualClock) =>
    LimitSet.create({
      limits: [
        { rate: 100, burst: 10 },
        { rate: 200, burst: 20 },
      ],
      initial: 0,
      clock,
    }),
  'a leaky bucket': (clock: ManualClock) => {
    const pace = LeakyBucket.create({ rate: 100, clock });
    pace.tryConsume();
    return pace;
  },
} as const;

type AnyBucket = TokenBucket | LeakyBucket | LimitSet;

/** Who was served or failed, and when, in order. */
export function diaryOf(clock: ManualClock, bucket: AnyBucket) {
  const events: string[] = [];
  const note = (name: string, what: string) => events.push(`${clock.nowMs}: ${name} ${what}`);
  return {
    events,
    wait(name: string, options?: WaitOptions, n = 1) {
      bucket.wait(n, options).then(
        () => note(name, 'served'),
        (error) => note(name, error?.code ?? String(error)),
      );
    },
    async at(...instants: number[]) {
      await settled();
      for (const ms of instants) {
        clock.set(ms);
        await settled();
      }
    },
  };
}

/** Changes the rate, and that of the second limit to twice as much. */
export function reconfigure(bucket: AnyBucket, rate: number): void {
  if (bucket instanceof LimitSet) bucket.reconfigure({ limits: [{ rate }, { rate: 2 * rate }] });
  else bucket.reconfigure({ rate });
}

/** A signal, and what aborts it. */
export function aborting() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort('enough') };
}

/** Who was served or failed, and when, in order. */
export class Diary {
  readonly clock = ManualClock.create();
  readonly limiter: Limiter;
  readonly events: string[] = [];

  constructor(make: (clock: ManualClock) => Limiter) {
    this.limiter = make(this.clock);
  }

  wait(name: string, options?: WaitOptions, n = 1): void {
    this.limiter.wait(n, options).then(
      ({ waitedMs }) => this.#note(name, `waited ${waitedMs}`),
      (error) => this.#note(name, error?.code ?? String(error)),
    );
  }

  #note(name: string, what: string): void {
    this.events.push(`${this.clock.nowMs}: ${name} ${what}`);
  }

  async until(ms: number): Promise<void> {
    await settled();
    while (this.clock.nowMs < ms) {
      this.clock.set(Math.min(ms, Math.floor(this.clock.nowMs) + 5));
      await settled();
    }
  }
}
