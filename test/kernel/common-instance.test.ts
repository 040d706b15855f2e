import { expect, test } from 'vitest';
import {
  FixedWindow,
  LimitSet,
  ManualClock,
  Region,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { collectUntil } from '../support/collect.ts';
import { part, Random, SEED } from '../support/random.ts';

const REGIONS = 3;
const CALLS = part(20_000, 2000);

/** A limiter of each kind, at the same places in each region. */
function limitersOf(region: Region, clock: ManualClock, burst: number) {
  const limits = [
    { rate: 10, burst },
    { rate: 1, burst: 3 * burst },
  ];
  const shared = { clock, region };
  return {
    bucket: TokenBucket.create({ rate: 10, burst, ...shared }),
    several: LimitSet.create({ limits, ...shared }),
    fixed: FixedWindow.create({ limit: burst, intervalMs: 500, ...shared }),
    sliding: SlidingWindow.create({ limit: burst, intervalMs: 500, ...shared }),
    log: SlidingLog.create({ limit: burst, intervalMs: 500, ...shared }),
    permits: Semaphore.create({ permits: burst, ...shared }),
  };
}

test(`limiters of plain regions, which share an instance, keep their states apart (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  const clock = ManualClock.create();
  const make = (plain: boolean) =>
    Array.from({ length: REGIONS }, (_, i) => limitersOf(Region.create({ plain }), clock, 2 + i));
  const [plain, wasm] = [make(true), make(false)];
  for (let call = 0; call < CALLS; call++) {
    clock.advance(random.below(200));
    const n = 1 + random.below(3);
    const at = random.below(REGIONS);
    const isReturned = random.below(4) === 0;
    const kind = random.pick(['bucket', 'several', 'fixed', 'sliding', 'log'] as const);
    const [ours, theirs] = [plain, wasm].map((regions) => {
      const limiters = regions[at];
      const limiter = limiters?.[kind];
      if (isReturned && limiter instanceof TokenBucket) limiter.returnTokens(n);
      using permit = limiters?.permits.tryAcquire(n);
      const decision = limiter?.decide(n);
      return { kernel: limiter?.kernelName, decision, isHeld: permit !== undefined };
    });
    expect(ours, `call ${call}`).toEqual({ ...theirs, kernel: 'atomics' });
    expect(theirs?.kernel).toBe('wasm');
  }
});

test('a plain region that was used last is freed like any other', async () => {
  const clock = ManualClock.create();
  const used = () => {
    const region = Region.create({ plain: true });
    const { bucket, several, log, permits } = limitersOf(region, clock, 2);
    using permit = permits.tryAcquire();
    expect([bucket, several, log].map((limiter) => limiter.tryConsume())).not.toContain(false);
    expect(permit).toBeDefined();
    return new WeakRef(region.buffer);
  };
  const buffer = used();
  await collectUntil(() => buffer.deref() === undefined);
  expect(buffer.deref()).toBeUndefined();
});
