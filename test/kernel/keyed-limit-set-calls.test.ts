import { test } from 'vitest';
import type { Receipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import type { WhenFull } from '../../src/kernel/constants.ts';
import type { Limits } from '../../src/kernel/keyed/cell.ts';
import { type HostedKeyedLimitSet, openKeyedLimitSet } from '../../src/kernel/limit-set/host.ts';
import { KEYED, SEED_BYTES } from '../../src/memory/layout.ts';
import { Random, SEED, SHARE } from '../support/random.ts';
import { randomKeys } from '../support/random-keys.ts';
import { Twins } from '../support/twins.ts';
import { createTable } from './keyed-limit-set-table.ts';

const CALLS = 200_000 * SHARE;
const CALLS_OF_A_TABLE = 1_000;

function randomLimit(random: Random): Schedule {
  const rate = random.pick([1, 1000, Number.POSITIVE_INFINITY, random.logarithmic(1e-3, 1e6)]);
  return continuous(rate, random.pick([1, 5, 0.5, 1000, random.logarithmic(0.1, 1000)]));
}

function randomLimits(random: Random): Limits<Schedule> {
  const others = Array.from({ length: 1 + random.below(7) }, () => randomLimit(random));
  return [randomLimit(random), ...others];
}

/** The limits at other rates, or with other bursts; at times some are paused. */
function changed(random: Random, schedules: Limits<Schedule>): Limits<Schedule> {
  const factor = random.pick([0.5, 2]);
  const isUniform = random.below(2) === 0;
  const next = schedules.map(({ rate, burst }) =>
    continuous(
      (rate || 1) * (isUniform ? factor : random.pick([1, 1, 2, 3.3, 0])) || 0,
      burst * random.pick([1, 2, 0.5]),
    ),
  );
  return next as unknown as Limits<Schedule>; // as many as before
}

test(`${CALLS} random calls get the same answers, and leave the same table, with both kernels (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let calls = 0; calls < CALLS; calls += CALLS_OF_A_TABLE) {
    const capacity = random.pick([1, 4, 20, 32, 40]);
    const schedules = randomLimits(random);
    const whenFull = random.pick<WhenFull>(['share', 'refuse', 'admit']);
    let nowUs = random.pick([0, 1e9, random.logarithmic(1, 1e15)]);
    const startUs = nowUs;
    const make = (plain: boolean) => {
      const place = createTable(schedules, capacity, whenFull, startUs, plain);
      new Uint8Array(place.region.buffer, place.offset + KEYED.seed, SEED_BYTES).fill(0);
      return place;
    };
    const twins = new Twins<HostedKeyedLimitSet>(make, (place, kernel) =>
      openKeyedLimitSet(place, () => nowUs, kernel),
    );
    const receipts: [Receipt, Receipt][] = [];
    const keys = randomKeys(random, capacity * 3);
    const usualUs = 1e6 / Math.min(1e6, schedules[0].rate) / capacity;
    const step = () => {
      nowUs += random.pick([0, 0, usualUs, random.logarithmic(0.01, 10)]);
      if (random.below(100) === 0) nowUs -= random.logarithmic(1, 1e9);
      if (random.below(400) === 0) nowUs += random.logarithmic(1e9, 1e13);
      const [high, low] = keys[random.below(keys.length)] ?? [0, 0];
      const n = random.pick([0, 1, 1, 2, 5, random.logarithmic(0.01, 1000)]);
      const maxWaitUs = random.pick([0, 0, Number.POSITIVE_INFINITY, random.logarithmic(1, 1e9)]);
      for (const kernel of twins.kernels) kernel.seek(high, low);
      switch (random.below(16)) {
        case 0:
          return twins.both('drain', (kernel) => kernel.drain(nowUs, n));
        case 1:
          return twins.both('return', (kernel) => kernel.returnTokens(nowUs, n));
        case 2:
          return twins.both('balance', (kernel) => kernel.balance(nowUs));
        case 3:
          return twins.both('timeUntil', (kernel) => kernel.timeUntil(nowUs, n));
        case 4:
          return twins.both('decide', (kernel) => kernel.decide(nowUs, n));
        case 5: {
          const last = receipts.splice(-1 - random.below(2))[0];
          return last && twins.both('cancel', (kernel, twin) => kernel.cancel(last[twin]));
        }
        case 6:
          return twins.both('charge', (kernel) => kernel.charge(nowUs, n));
        case 7:
          return twins.both('block', (kernel) => kernel.block(nowUs, 1e6 * n));
        case 8:
          return random.below(4) === 0
            ? twins.both('reset', (kernel) => kernel.reset(nowUs))
            : undefined;
        case 9: {
          const last = receipts.at(-1);
          return last && twins.both('due', (kernel, twin) => kernel.due(last[twin]));
        }
        case 10: {
          if (random.below(10) > 0) return undefined;
          const before = twins.kernels[0].schedules();
          try {
            const next = changed(random, before);
            return twins.both('change', (kernel) =>
              kernel.reconfigure(
                () => nowUs,
                () => next,
              ),
            );
          } catch (error) {
            if (error instanceof RangeError) return undefined; // too large a burst for the clock
            throw error;
          }
        }
        default: {
          const wait = twins.both('acquire', (kernel) => kernel.acquire(nowUs, n, maxWaitUs));
          if (typeof wait !== 'number' || wait < 0) return undefined;
          const [ours, theirs] = twins.kernels;
          return receipts.push([ours.receipt(), theirs.receipt()]);
        }
      }
    };
    for (let call = 0; call < CALLS_OF_A_TABLE; call++) {
      step();
      twins.compareMemory();
    }
    twins.both('stats', (kernel) => kernel.stats(nowUs));
  }
});
