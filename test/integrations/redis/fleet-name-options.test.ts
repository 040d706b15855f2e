import { describe, expect, test } from 'vitest';
import { ManualClock, type Region, TokenBucket } from '../../../src/index.ts';
import { FleetBucket } from '../../../src/integrations/redis.ts';
import { Market } from './fleet-market.ts';

describe('a fleet bucket with a name', () => {
  test('throws for other options than those of its name, and changes nothing', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const local = { whenUnreachable: 'local', rate: 10, processes: 2 } as const;
    const fleet = await market.open(source, { intervalMs: 10, maxAgeMs: 100, ...local });
    const wrong: readonly [object, string][] = [
      [{ stock: 200 }, 'stock 100, the options say 200'],
      [{ minStock: 5 }, 'minStock 1, the options say 5'],
      [{ intervalMs: 11 }, 'intervalMs 10, the options say 11'],
      [{ maxAgeMs: Number.POSITIVE_INFINITY }, 'maxAgeMs 100, the options say Infinity'],
      [{ whenUnreachable: 'refuse' }, 'whenUnreachable "local", the options say "refuse"'],
      [{ ...local, rate: 11 }, 'rate 10, the options say 11'],
      [{ ...local, processes: 3 }, 'processes 2, the options say 3'],
      [{ stats: true }, 'stats false, the options say true'],
      [{ stock: 200, onMismatch: 'reconfigure' }, 'stock 100, the options say 200'],
      [{ clock: ManualClock.open(market.region, 'other') }, 'clock "manual"'],
    ];
    for (const [options, message] of wrong) {
      const failure = market.open(source, options);
      await expect(failure).rejects.toThrow(`the limiter "hot" has ${message}`);
      await expect(failure).rejects.toMatchObject({ code: 'ERR_NAME_MISMATCH' });
    }
    const kept = await market.open(source, { stock: 200, onMismatch: 'keep' });
    expect(kept.limit).toBe(100);
    const same = await market.open(source, { intervalMs: 10, ...local });
    for (const one of [same, kept, fleet]) await one.close();
  });

  test('ignores the local share in every opener while it refuses', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const refuse = { whenUnreachable: 'refuse', rate: 10, processes: 2 } as object;
    const first = await market.open(market.source(), refuse);
    const second = await market.open(market.source(), refuse);
    expect(second.handle.offset).toBe(first.handle.offset);
    for (const one of [first, second]) await one.close();
  });

  test('is no other limiter', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const limit = { rate: 1, burst: 1 };
    TokenBucket.open(market.region, 'bucket', limit);
    await expect(market.open(source, {}, 'bucket')).rejects.toThrow(
      /^the limiter "bucket" has kind "token-bucket", the options say "fleet-bucket"$/,
    );
    const fleet = await market.open(source);
    expect(() => TokenBucket.open(market.region, 'hot', limit)).toThrow(
      /^the limiter "hot" has kind/,
    );
    await fleet.close();
  });

  test('names each invalid option before it takes the name', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const wrong: readonly [object, RegExp][] = [
      [{ stock: 0 }, /^stock must be/],
      [{ source: {} }, /^source must be a TokenSource/],
      [{ random: 5 }, /^random must be a function, got 5$/],
      [{ onMismatch: 'ignore' }, /^onMismatch must be one of/],
      [{ region: market.region }, /^give the region once, before the name$/],
      [{ sauce: 1 }, /^options has no option "sauce"; did you mean source\?$/],
      [{ clock: ManualClock.create() }, /^the ManualClock of a named limiter must be/],
    ];
    for (const [options, message] of wrong) {
      await expect(market.open(source, options)).rejects.toThrow(message);
    }
    const nowhere = FleetBucket.open({} as Region, 'hot', { source, stock: 5 });
    await expect(nowhere).rejects.toThrow(/^region must be a Region/);
    const fleet = await market.open(source, { stock: 50 });
    expect(fleet.limit).toBe(50);
    await fleet.close();
  });

  test('reads the system clock by default', async () => {
    const market = new Market({ rate: 1000, burst: 1000 });
    const source = market.source();
    const fleet = await FleetBucket.open(market.region, 'hot', { source, stock: 10 });
    expect(fleet.clock.name).toBe('system');
    expect(await fleet.wait(1)).toEqual({ waitedMs: 0 });
    await fleet[Symbol.asyncDispose]();
  });
});
