import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import {
  allOf,
  attach,
  FixedWindow,
  LimitSet,
  SlidingLog,
  systemClock,
  TickerClock,
  TokenBucket,
} from '../../src/index.ts';
import { BOOT_BYTES, REGION, REGION_FILE, REGION_TIME } from '../../src/memory/layout.ts';
import { closedRegion, hostRegion, overwrite, withLibc } from '../support/host.ts';

const HOUR_US = 3.6e9;

/** A region that has outlived a restart. */
function shiftedRegion(shiftUs = HOUR_US): HostRegion {
  const region = hostRegion();
  const entries = region.i32[REGION.processes] ?? 0;
  region.f64[(entries + REGION_TIME.shiftUs) >> 3] = shiftUs;
  return region;
}

function bytesOf(value: number): Uint8Array {
  return new Uint8Array(new Float64Array([value]).buffer);
}

/** By how much a clock is ahead of the system's, in whole seconds. */
function aheadS(clock: { now(): number }): number {
  return Math.round((clock.now() - systemClock.now()) / 1e6);
}

describe('limiters in a region that has outlived a restart', () => {
  test('tell its time, however they are opened', async () => {
    const region = shiftedRegion();
    const ticker = await TickerClock.create();
    onTestFinished(() => ticker.dispose());
    const terms = { rate: 1, burst: 5 };
    const bucket = TokenBucket.open(region, 'api', terms);
    const buckets = [
      bucket,
      TokenBucket.open(region, 'api', terms),
      TokenBucket.open(region, 'api', { ...terms, clock: systemClock }),
      TokenBucket.create({ ...terms, region }),
      TokenBucket.create({ ...terms, region, clock: ticker }),
      TokenBucket.attach(bucket.handle),
      attach(bucket.handle),
    ];
    expect(buckets.map(({ clock }) => aheadS(clock))).toEqual(buckets.map(() => 3600));
    expect(buckets.map(({ clock }) => clock.name)).toContain('ticker');
    expect(TokenBucket.create(terms).clock).toBe(systemClock);
    expect(TokenBucket.open(hostRegion(), 'api', terms).clock).toBe(systemClock);
    // Waits of one region share their timers.
    expect(buckets[1]?.clock).toBe(bucket.clock);
  });

  test('wait as long as others', async () => {
    const region = shiftedRegion();
    const bucket = TokenBucket.open(region, 'api', { rate: 1000, burst: 1 });
    const window = FixedWindow.open(region, 'window', { limit: 1, intervalMs: 5 });
    const both = allOf(bucket, window);
    const begunUs = systemClock.now();
    for (let call = 0; call < 4; call++) {
      await bucket.wait();
      expect(bucket.waitSync()).toBe(true);
      await window.wait();
      await both.wait();
    }
    const ms = (systemClock.now() - begunUs) / 1000;
    expect(ms).toBeGreaterThanOrEqual(35);
  });

  test('combine with limiters of the system clock, and of other regions, in any order', () => {
    const terms = { rate: 1e-6, burst: 5 };
    const parts = [
      TokenBucket.open(shiftedRegion(), 'api', terms),
      TokenBucket.create({ ...terms, burst: 4 }),
      TokenBucket.open(shiftedRegion(-HOUR_US), 'api', terms),
    ];
    for (const order of [parts, [...parts].reverse()]) {
      const all = allOf(...order);
      expect([all.tryConsume(), all.tryConsume()]).toEqual([true, true]);
      expect(Math.floor(all.timeUntil(4) / 1e9)).toBeGreaterThanOrEqual(1);
    }
    const left = parts.map((bucket) => Math.round(bucket.available()));
    expect(left).toEqual([1, 0, 1]);
    expect(allOf(...parts).tryConsume()).toBe(false);
    expect(parts.map((bucket) => Math.round(bucket.available()))).toEqual(left);
  });
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1e17])(
  'a region whose time is ahead by %d is refused as damaged, also while it is open',
  (shiftUs) => {
    const region = hostRegion();
    region.close();
    const entries = region.i32[REGION.processes] ?? 0;
    overwrite(region.path, entries + REGION_TIME.shiftUs, bytesOf(shiftUs));
    const damaged = expect.objectContaining({
      code: 'ERR_REGION_DAMAGED',
      message: `the region's time cannot be ahead by ${shiftUs} us`,
    });
    expect(() => HostRegion.open({ path: region.path })).toThrow(damaged);
    expect(() => HostRegion.open({ path: region.path })).toThrow(damaged);
    const opened = shiftedRegion(0);
    opened.f64[((opened.i32[REGION.processes] ?? 0) + REGION_TIME.shiftUs) >> 3] = shiftUs;
    expect(() => TokenBucket.open(opened, 'api', { rate: 1, burst: 1 })).toThrow(damaged);
    opened.f64[((opened.i32[REGION.processes] ?? 0) + REGION_TIME.shiftUs) >> 3] = 0;
  },
);

describe("with afterReboot: 'keep'", () => {
  const keep = { afterReboot: 'keep' } as const;

  test('a region of which half an id was written goes on', () => {
    const region = hostRegion();
    TokenBucket.open(region, 'api', { rate: 1e-6, burst: 5 }).tryConsume(3);
    region.close();
    overwrite(region.path, REGION_FILE.boot, new Uint8Array(8));
    const kept = HostRegion.open({ path: region.path, ...keep });
    onTestFinished(() => kept.close());
    const bucket = TokenBucket.open(kept, 'api', { rate: 1e-6, burst: 5 });
    expect(Math.floor(bucket.available())).toBe(2);
    expect(Math.abs(aheadS(bucket.clock))).toBeLessThanOrEqual(1);
  });

  test('a region that another process takes over just before is not taken over again', async () => {
    const region = hostRegion();
    region.close();
    const { path } = region;
    const entries = region.i32[REGION.processes] ?? 0;
    const boot = readFileSync(path).subarray(REGION_FILE.boot, REGION_FILE.boot + BOOT_BYTES);
    overwrite(path, REGION_FILE.boot, new Uint8Array(BOOT_BYTES));
    let calls = 0;
    const host = await withLibc((real) => ({
      lock(...call) {
        // The first lock is that of making and taking over.
        if (calls++ === 0) {
          overwrite(path, entries + REGION_TIME.shiftUs, bytesOf(12_345));
          overwrite(path, REGION_FILE.boot, boot);
        }
        return real.lock(...call);
      },
    }));
    const kept = host.HostRegion.open({ path, ...keep });
    onTestFinished(() => kept.close());
    expect(kept.shiftUs).toBe(12_345);
  });

  // docs/host.md: "A pause counts as 366 days at most"
  test('a wall clock that was set from 1970 to this year counts as a pause of a year', async () => {
    const region = hostRegion();
    const limits = [{ rate: 1000, burst: 1 }];
    const openAll = (one: HostRegion) => [
      LimitSet.open(one, 'set', { limits }),
      FixedWindow.open(one, 'window', { limit: 1, intervalMs: 1 }),
      SlidingLog.open(one, 'log', { limit: 1, intervalMs: 1 }),
    ];
    for (const limiter of openAll(region)) expect(limiter.tryConsume()).toBe(true);
    region.close();
    const { path, f64, i32 } = region;
    const at = (i32[REGION.processes] ?? 0) + REGION_TIME.wallUs;
    overwrite(path, at, bytesOf((f64[at >> 3] ?? 0) - 1000 * Date.now()));
    overwrite(path, REGION_FILE.boot, new Uint8Array(BOOT_BYTES));
    const kept = HostRegion.open({ path, ...keep });
    onTestFinished(() => kept.close());
    expect(Math.round(kept.shiftUs / 86_400e6)).toBe(366);
    for (const limiter of openAll(kept)) {
      for (let call = 0; call < 3; call++) await limiter.wait(1, { timeoutMs: 1000 });
    }
  });

  test('another time namespace of the same start is refused', () => {
    const path = closedRegion();
    overwrite(path, REGION_FILE.timeNamespace, bytesOf(1));
    expect(() => HostRegion.open({ path, ...keep })).toThrow(
      'was created in another time namespace',
    );
  });

  test('a region without sound notes is refused, and stays one of the earlier start', () => {
    const region = hostRegion();
    region.close();
    const entries = region.i32[REGION.processes] ?? 0;
    overwrite(region.path, REGION_FILE.boot, new Uint8Array(16));
    overwrite(region.path, entries + REGION_TIME.wallUs, bytesOf(Number.NaN));
    for (let tries = 0; tries < 2; tries++) {
      expect(() => HostRegion.open({ path: region.path, ...keep })).toThrow(
        `${region.path} has no valid notes of its time`,
      );
    }
    expect(() => HostRegion.open({ path: region.path })).toThrow("this machine's last start");
  });

  test.each([-(2 ** 31), -64, 0, 1_048_560, 1_048_576, 2 ** 31 - 64])(
    'a region of which the processes seem to be at %d is damaged, and not written to',
    (at) => {
      const path = closedRegion();
      overwrite(path, REGION_FILE.boot, new Uint8Array(16));
      overwrite(path, 4 * REGION.processes, new Uint8Array(new Int32Array([at]).buffer));
      const before = readFileSync(path);
      expect(() => HostRegion.open({ path, ...keep })).toThrow(
        `${path} has no room for its processes`,
      );
      expect(readFileSync(path).equals(before)).toBe(true);
    },
  );

  test('a new region is made, and one of this start is as ever', () => {
    const region = hostRegion(keep);
    region.close();
    const again = HostRegion.open({ path: region.path, ...keep });
    onTestFinished(() => again.close());
    expect(again.shiftUs).toBe(0);
  });
});
