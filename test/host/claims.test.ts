import { describe, expect, test } from 'vitest';
import type { HostRegion } from '../../src/host.ts';
import {
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  LeakyBucket,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { BUCKET, KEYED } from '../../src/memory/layout.ts';
import { claimRecords, claimsOf } from '../support/cell.ts';
import { ask, hostRegion, startProcesses } from '../support/host.ts';
import { part } from '../support/random.ts';
import type { HostJob } from '../workers/host-user.ts';

/** In full more than a limiter has records. */
const KILLS = part(8, 1);
const PER_KEY = { capacity: 10, intervalMs: 1000 };

/** A limiter of each kind whose limit can change. */
function limitersIn(region: HostRegion) {
  const limits = [
    { rate: 1, burst: 5 },
    { rate: 2, burst: 7 },
  ];
  const { capacity, intervalMs } = PER_KEY;
  return [
    TokenBucket.open(region, 'bucket', { rate: 1, burst: 5 }),
    TokenBucket.open(region, 'several', { limits }),
    LeakyBucket.open(region, 'leaky', { rate: 1 }),
    FixedWindow.open(region, 'fixed', { limit: 3, intervalMs }),
    SlidingWindow.open(region, 'sliding', { limit: 3, intervalMs }),
    SlidingLog.open(region, 'log', { limit: 3, intervalMs }),
    KeyedTokenBucket.open(region, 'keyed', { rate: 1, burst: 5, capacity }),
    KeyedTokenBucket.open(region, 'keyed several', { limits, capacity }),
    KeyedFixedWindow.open(region, 'keyed window', { limit: 3, ...PER_KEY }),
  ];
}

async function killed(region: HostRegion, job: (entry: number) => HostJob): Promise<number> {
  const [child] = await startProcesses('host-user', 1);
  if (child === undefined) throw new Error('no process');
  const entry = region.processes().length + 1;
  const { result } = await ask<{ result: unknown }>(child, job(entry));
  expect(result).toBeDefined();
  child.kill('SIGKILL');
  while (region.processes().length > 1) await new Promise(setImmediate);
  return entry;
}

describe('the configuration records of a process that is killed come back', () => {
  test.each(['word', 'release'] as const)('if it was at the %s in reconfigure', async (stall) => {
    const region = hostRegion();
    const bucket = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 100 });
    for (let i = 1; i <= KILLS; i++) {
      await killed(region, () => ({ stall, path: region.path, burst: 100 + i }));
      expect(claimsOf(region, bucket)).toEqual([]);
      // Before the exchange of the word the limit has not changed; after it, it has.
      expect(bucket.burst).toBe(stall === 'word' ? 100 : 100 + i);
    }
    bucket.reconfigure({ burst: 120 });
    expect(bucket.burst).toBe(120);
  });

  test('whatever limiter they are of, and no others', async () => {
    const region = hostRegion();
    const limiters = limitersIn(region);
    const own = region.handle.process ?? 0;
    const claim = (holder: number) => {
      for (const { handle } of limiters) {
        const isTable = handle.zerotime.startsWith('keyed-');
        for (const at of isTable ? [BUCKET.claims, KEYED.claims] : [BUCKET.claims]) {
          claimRecords(region.buffer, handle.offset + at, 0b0110_0000 >> holder, holder);
        }
      }
    };
    claim(own);
    const before = limiters.map((limiter) => claimsOf(region, limiter));
    const entry = await killed(region, (next) => {
      for (const { handle } of limiters) {
        const claims = new Uint8Array(region.buffer, handle.offset + BUCKET.claims, 8);
        claims[7] = next;
        if (!handle.zerotime.startsWith('keyed-')) continue;
        new Uint8Array(region.buffer, handle.offset + KEYED.claims, 8)[7] = next;
      }
      return { hold: region.path, permits: 1 };
    });
    expect(entry).toBe(own + 1);
    expect(limiters.map((limiter) => claimsOf(region, limiter))).toEqual(before);
    expect(before.flat().every((holder) => holder === own)).toBe(true);
  });
});
