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

/** Who was served or failed, and when, in order, on a clock of its own. */
export function diaryOf<L extends Limiter>(make: (clock: ManualClock) => L) {
  const clock = ManualClock.create();
  const limiter = make(clock);
  const events: string[] = [];
  const note = (name: string, what: string) => events.push(`${clock.nowMs}: ${name} ${what}`);
  const at = async (...instants: number[]) => {
    await settled();
    for (const ms of instants) {
      clock.set(ms);
      await settled();
    }
  };
  return {
    ...{ clock, limiter, events, at },
    wait(name: string, options?: WaitOptions, n = 1) {
      limiter.wait(n, options).then(
        ({ waitedMs }) => note(name, `waited ${waitedMs}`),
        (error) => note(name, error?.code ?? String(error)),
      );
    },
    /** In steps of at most 5 ms. */
    async until(ms: number) {
      await settled();
      while (clock.nowMs < ms) await at(Math.min(ms, Math.floor(clock.nowMs) + 5));
    },
  };
}
