import { describe, expect, test } from 'vitest';
import { Region } from '../../src/index.ts';
import { createBucketCell } from '../../src/kernel/bucket/cell.ts';
import { openBucket } from '../../src/kernel/bucket/host.ts';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { createLimitSetCell } from '../../src/kernel/limit-set/cell.ts';
import { openLimitSet } from '../../src/kernel/limit-set/host.ts';
import { RECORD, recordOffset } from '../../src/memory/layout.ts';
import { replaceExchanges } from '../support/replaced-exchanges.ts';

function made() {
  const region = Region.create();
  const schedule = continuous(1000, 10);
  const bucket = { kind: 'token-bucket', schedule, initial: 10, region, stats: false } as const;
  const place = createBucketCell({ ...bucket, nowUs: 0 });
  const kernel = openBucket(place, 'atomics');
  const reconfigure = (rate: number) =>
    kernel.reconfigure(
      () => 0,
      () => continuous(rate, 10),
    );
  return { place, kernel, epoch: kernel.epoch(), reconfigure };
}

describe('an epoch', () => {
  test('holds while tokens are taken and returned', () => {
    const { kernel, epoch } = made();
    kernel.acquire(0, 3, 0);
    kernel.returnTokens(0, 1);
    kernel.drain(1e6, 10);
    expect([epoch.holds, epoch.endures()]).toEqual([true, true]);
  });

  test('ends with a reconfiguration, even to the same limit', () => {
    const { epoch, reconfigure } = made();
    reconfigure(1000);
    expect([epoch.holds, epoch.endures()]).toEqual([false, false]);
    epoch.renew();
    expect([epoch.holds, epoch.endures()]).toEqual([true, true]);
  });

  test('never holds again, however often the records are reused', () => {
    const { epoch, reconfigure } = made();
    for (let i = 1; i <= 30; i++) {
      reconfigure(1000 + i);
      expect([epoch.holds, epoch.endures()], `after ${i}`).toEqual([false, false]);
    }
  });

  test('endures when a record is renewed, or replaced because tokens were returned', () => {
    const { kernel, epoch } = made();
    kernel.acquire(1.2e12, 1, 0);
    expect([epoch.holds, epoch.endures(), epoch.holds]).toEqual([false, true, true]);
    kernel.acquire(1.2e12, 10, Number.POSITIVE_INFINITY);
    expect(kernel.returnTokens(1.2e12, 1)).toBe(true);
    expect([epoch.holds, epoch.endures(), epoch.holds]).toEqual([false, true, true]);
  });

  test('is in doubt, and endures, after a reconfiguration that was terminated before its exchange', () => {
    const { place, epoch, reconfigure } = made();
    place.region.i32[(recordOffset(place.offset, 0) + RECORD.liveEpoch) >> 2] = 0;
    expect([epoch.holds, epoch.endures()]).toEqual([false, true]);
    epoch.renew();
    expect([epoch.holds, epoch.endures()]).toEqual([false, true]);
    reconfigure(5);
    expect([epoch.holds, epoch.endures()]).toEqual([false, false]);
  });

  test('ends with a reconfiguration whose thread was terminated right after its exchange', () => {
    const { place, epoch, reconfigure } = made();
    const mock = replaceExchanges((exchange, { words, at }) => {
      const seen = exchange();
      if (words instanceof BigInt64Array && at === place.offset >> 3) throw new Error('ended');
      return seen;
    });
    expect(() => reconfigure(5)).toThrow('ended');
    mock.mockRestore();
    expect([epoch.holds, epoch.endures()]).toEqual([false, false]);
  });

  test('is shared by all observers: each sees its end', () => {
    const { kernel, reconfigure } = made();
    const others = [kernel.epoch(), kernel.epoch()];
    reconfigure(5);
    expect(others.map(({ holds }) => holds)).toEqual([false, false]);
    expect(kernel.epoch().holds).toBe(true);
  });
});

describe('an epoch of a limit set', () => {
  test('ends with a change of any limit, whatever else happens, and begins again when it is renewed', () => {
    const schedules = [continuous(1000, 10), continuous(10, 100)] as const;
    const region = Region.create();
    const place = createLimitSetCell({ schedules, region, stats: false, nowUs: 0 });
    const kernel = openLimitSet(place, 'atomics');
    const epoch = kernel.epoch();
    kernel.acquire(0, 10, 0);
    kernel.acquire(0, 5, Number.POSITIVE_INFINITY);
    expect(kernel.returnTokens(0, 1)).toBe(true);
    expect([epoch.holds, epoch.endures()]).toEqual([true, true]);
    for (let i = 1; i <= 30; i++) {
      kernel.reconfigure(
        () => 0,
        ([first]) => [first, continuous(10 + i, 100)],
      );
      expect([epoch.holds, epoch.endures()], `after ${i}`).toEqual([false, false]);
    }
    epoch.renew();
    expect([epoch.holds, epoch.endures()]).toEqual([true, true]);
  });
});
