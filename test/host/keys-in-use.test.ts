import { expect, test } from 'vitest';
import { hashOf, type KeyInUse, keysInUse } from '../../src/host/keys-in-use.ts';
import type { HostRegion } from '../../src/host.ts';
import {
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  ManualClock,
  TokenBucket,
} from '../../src/index.ts';
import { host, regionWith } from '../cli/support/operated.ts';
import { hostRegion } from '../support/host.ts';
import { part, Random, SEED } from '../support/random.ts';

const LIMIT = { rate: 10, burst: 100 };

function named(region: HostRegion, name: string) {
  const found = region.limiters().find((one) => one.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}

/** The keys in use by name, given all names. */
function byName(region: HostRegion, table: string, names: readonly (string | number)[]) {
  const one = named(region, table);
  const hashes = new Map(names.map((name) => [hashOf(region, one, name), name]));
  const { keys, unread } = keysInUse(region, one);
  expect(unread).toBe(0);
  return keys.map((key): [unknown, KeyInUse] => [hashes.get(key.hash), key]);
}

test('the keys of a bucket are those that lack tokens, the worst first', () => {
  const region = hostRegion();
  const clock = ManualClock.open(region, 'clock');
  const tiers = { pro: { rate: 1, burst: 500 } };
  const options = { ...LIMIT, capacity: 10, tiers, clock };
  const table = KeyedTokenBucket.open(region, 'keys', options);
  table.tryConsume('ann', 30);
  table.charge('bob', 130);
  table.tryConsume('cid', 500, { tier: 'pro' });
  table.block('dan', 60_000);
  table.tryConsume('eve', 1);
  clock.advance(100); // eve is full again
  const names = ['ann', 'bob', 'cid', 'dan', 'eve'];
  const seen = byName(region, 'keys', names).map(([name, { tokens, burst, tier, retryMs }]) => {
    return [name, Math.round(tokens * 1e6) / 1e6, burst, tier, Math.round(retryMs)];
  });
  expect(seen).toEqual([
    ['dan', -599, 100, undefined, 60_000],
    ['bob', -29, 100, undefined, 3000],
    ['cid', 0.1, 500, 'pro', 900],
    ['ann', 71, 100, undefined, 0],
  ]);
});

test('so are those of windows and limit sets', () => {
  const region = hostRegion();
  const clock = ManualClock.open(region, 'clock');
  const window = { limit: 10, intervalMs: 1000, capacity: 10, clock };
  KeyedFixedWindow.open(region, 'windows', window).tryConsume(7, 10);
  const limits = [LIMIT, { rate: 1, burst: 20 }];
  KeyedLimitSet.open(region, 'sets', { limits, capacity: 10, clock }).tryConsume(8, 20);
  const [[seven, ofSeven] = []] = byName(region, 'windows', [7]);
  expect([seven, ofSeven?.tokens, ofSeven?.burst, ofSeven?.retryMs]).toEqual([7, 0, 10, 1000]);
  const [[eight, ofEight] = []] = byName(region, 'sets', [8]);
  expect([eight, ofEight?.tokens, ofEight?.burst, ofEight?.retryMs]).toEqual([8, 0, 20, 1000]);
});

test(`each key of a full table is found, with what it holds (seed ${SEED})`, () => {
  const random = new Random(SEED);
  for (const capacity of [1, 3, 40, part(70_000, 1000)]) {
    const region = hostRegion({ bytes: 8_388_608 });
    const clock = ManualClock.open(region, 'clock');
    const options = { rate: 1e-3, burst: 100, capacity, clock, whenFull: 'refuse' } as const;
    const table = KeyedTokenBucket.open(region, 'keys', options);
    const taken = new Map<number, number>();
    for (let key = 0; key < capacity; key++) {
      const tokens = 1 + random.below(100);
      if (table.tryConsume(key, tokens)) taken.set(key, tokens);
    }
    const seen = byName(region, 'keys', [...taken.keys()]);
    expect(new Map(seen.map(([key, { tokens }]) => [key, Math.round(100 - tokens)]))).toEqual(
      taken,
    );
  }
});

test('zerotime host keys shows hashes, or the keys that are asked for', async () => {
  const path = regionWith((region) => {
    const table = KeyedTokenBucket.open(region, 'keys', { rate: 1e-6, burst: 100, capacity: 10 });
    table.tryConsume('ann', 100);
    table.tryConsume(42, 1);
    TokenBucket.open(region, 'api', LIMIT);
    ManualClock.open(region, 'clock');
  });
  const { stdout } = await host('keys', path, 'keys', '--top', '1');
  expect(stdout).toMatch(
    /^keys \(keyed-token-bucket\): 2 keys not full\n {2}[\da-f]{11} {2}\S+ of 100 tokens {2}admitted in \d+ h.*\n$/,
  );
  const asked = await host('keys', path, 'keys', 'ann', 'bob');
  expect(asked.stdout).toMatch(
    /\n {2}ann {2}[\da-f]{11} {2}\S+ of 100 tokens {2}admitted in .*\n {2}bob {2}[\da-f]{11} {2}full\n$/,
  );
  const both = await host('keys', path, 'keys', 'ann', '--top', '5');
  expect(both).toMatchObject({ code: 1, stdout: '' });
  expect(both.stderr).toMatch(/^error: --top cannot be used with keys: each key/);
  const number = await host('keys', path, 'keys', '42', '--key-type', 'number');
  expect(number.stdout).toMatch(
    /\n {2}42 {2}[\da-f]{11} {2}99\S* of 100 tokens {2}admitted now\n$/,
  );
  expect(await host('keys', path, 'api')).toMatchObject({
    code: 1,
    stderr: 'error: "api" is a token-bucket, which has no keys\n',
  });
  expect(await host('keys', path, 'none')).toMatchObject({
    code: 1,
    stderr: `error: ${path} has no limiter "none"; it has "api", "keys"\n`,
  });
  expect(await host('keys', path, 'clock')).toMatchObject({
    code: 1,
    stderr: 'error: "clock" is a clock, not a limiter\n',
  });
});
