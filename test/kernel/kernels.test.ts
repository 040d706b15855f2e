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
import type { Receipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { buckets, keyed, limitSets, siphash, window } from '../../src/kernel/build/modules.ts';
import { createKeyedCell, tableLimits } from '../../src/kernel/keyed/cell.ts';
import { openKeyed } from '../../src/kernel/keyed/host.ts';
import { bytesOf } from '../../src/kernel/open.ts';
import { ENTRY, KEYED, keyedBytes } from '../../src/memory/layout.ts';
import { collectUntil } from '../support/collect.ts';
import { part } from '../support/random.ts';

// test/mutants/scenes.test.ts has that both targets do the same.

test.each([
  ['buckets', buckets, 15],
  ['windows', window, 8.5],
  ['keys', keyed, 13.25],
  ['hashes', siphash, 13],
  ['limit sets', limitSets, 21],
] as const)('the module of %s is smaller than $2 KiB', (_, { wasm }, kib) => {
  expect(bytesOf(wasm()).length).toBeLessThan(kib * 1024);
});

test('the compiled kernel is the default, and either can be requested', () => {
  const limit = { rate: 1, burst: 1 };
  expect(TokenBucket.create(limit).kernelName).toBe('wasm');
  expect(TokenBucket.create({ ...limit, kernel: 'wasm' }).kernelName).toBe('wasm');
  const bucket = TokenBucket.create({ ...limit, kernel: 'atomics' });
  expect(bucket.kernelName).toBe('atomics');
  expect(TokenBucket.attach(structuredClone(bucket.handle)).kernelName).toBe('atomics');
});

test('a damaged entry is an error with either kernel, even if only its tag does not match its version', () => {
  const damaged = expect.objectContaining({
    name: 'HandleError',
    code: 'ERR_REGION_DAMAGED',
    message: 'the clock, an entry or a limit is invalid',
  });
  for (const name of ['atomics', 'wasm'] as const) {
    const region = Region.create();
    const place = createKeyedCell({
      ...{ kind: 'keyed-token-bucket', nowUs: 0, capacity: 4, whenFull: 'share', stats: false },
      ...{ limits: tableLimits([continuous(1, 1)]), region },
    });
    const kernel = openKeyed(place, () => 0, name);
    region.i64.fill(8n, (place.offset + KEYED.table) >> 3, (place.offset + keyedBytes(8)) >> 3);
    kernel.seek(1, 2);
    expect(() => kernel.acquire(0, 1, 0)).toThrow(damaged);
    region.i64.fill(0n, (place.offset + KEYED.table) >> 3, (place.offset + keyedBytes(8)) >> 3);
    kernel.acquire(0, 1, 0);
    const { entry } = kernel.receipt() as Receipt & { entry: number };
    region.i64[entry + ENTRY.state] = (region.i64[entry + ENTRY.state] ?? 0n) ^ 2n;
    expect(() => kernel.acquire(0, 1, 0)).toThrow(damaged);
  }
});

const _REGIONS = 3;
const _CALLS = part(20_000, 2000);

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
