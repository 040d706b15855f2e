import { expect, it } from 'vitest';
import { ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';

const TENANTS = ['one', 'two', 'four'] as const;
const WEIGHTS = { one: 1, two: 2, four: 4 };
type Tenant = (typeof TENANTS)[number];

async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
}

/** Keeps `depth` calls of each tenant waiting, and counts the starts. */
async function sharesOf(depths: Record<Tenant, number>, steps: number) {
  const clock = ManualClock.create();
  const limiter = TokenBucket.create({ rate: 1000, burst: 10, initial: 0, clock });
  const semaphore = Semaphore.create({ permits: 8, clock });
  const starts = { one: 0, two: 0, four: 0 };
  const waiting = { one: 0, two: 0, four: 0 };
  const call = throttled(
    (tenant: Tenant) => {
      starts[tenant]++;
      waiting[tenant]--;
    },
    { limiter, semaphore, key: (tenant) => tenant, weights: WEIGHTS },
  );
  const fill = () => {
    for (const tenant of TENANTS) {
      for (; waiting[tenant] < depths[tenant]; waiting[tenant]++) void call(tenant);
    }
  };
  fill();
  for (let step = 0; step < steps; step++) {
    clock.advance(1);
    await settled();
    fill();
  }
  return starts;
}

it('keeps shares of 1 : 2 : 4 within 2 % while one tenant floods', async () => {
  const starts = await sharesOf({ one: 5000, two: 20, four: 20 }, 2100);
  const total = starts.one + starts.two + starts.four;
  expect(total).toBeGreaterThan(2000);
  for (const tenant of TENANTS) {
    const share = (WEIGHTS[tenant] / 7) * total;
    expect(Math.abs(starts[tenant] - share) / share).toBeLessThan(0.02);
  }
});

it('gives a tenant that asks for less than its share all it asks for', async () => {
  const starts = await sharesOf({ one: 5000, two: 0, four: 20 }, 1000);
  expect(starts.two).toBe(0);
  expect(starts.four / starts.one).toBeCloseTo(4, 1);
});
