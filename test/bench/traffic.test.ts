import { expect, test } from 'vitest';
import { asking, calling } from '../../bench/consumer.ts';
import { FRESH, KEPT, keysOfTask, TRAFFICS } from '../../bench/key-traffic.ts';
import { mostBeyondRate, type Spend } from '../../bench/spend-log.ts';
import { type Traffic, waitsOf } from '../../bench/splitting.ts';
import { Random, SEED } from '../support/random.ts';

const KEYS = 100;

function take(count: number, next: () => string): string[] {
  return Array.from({ length: count }, next);
}

function trafficOf(kind: string) {
  const traffic = TRAFFICS.find((one) => one.kind === kind);
  if (traffic === undefined) throw new Error(`there is no traffic of ${kind}`);
  return traffic;
}

test('hits ask for every known key once before one comes again, in random order', () => {
  for (const traffic of [KEPT, FRESH]) {
    const { known, next } = keysOfTask({ traffic, keys: KEYS, thread: 0 });
    const round = take(KEYS, next);
    expect(new Set(round)).toEqual(new Set(known));
    expect(new Set(round).size).toBe(KEYS);
    expect(round).not.toEqual(round.toSorted());
    expect(take(KEYS, next)).toEqual(round);
    expect(round[0]).toHaveLength(20);
  }
});

test('two threads ask for the same known keys in different orders', () => {
  const [one, two] = [0, 1].map((thread) => keysOfTask({ traffic: KEPT, keys: KEYS, thread }));
  expect(two?.known).not.toEqual(one?.known);
  expect(two?.known.toSorted()).toEqual(one?.known.toSorted());
});

test.each(['new', 'flood'])('%s keys never come again, in any thread', (kind) => {
  const traffic = trafficOf(kind);
  const keys = [0, 1].flatMap((thread) =>
    take(3 * KEYS, keysOfTask({ traffic, keys: KEYS, thread }).next),
  );
  expect(new Set(keys).size).toBe(6 * KEYS);
});

test('half of the keys that churn are hits', () => {
  const { next } = keysOfTask({ traffic: trafficOf('churn'), keys: KEYS, thread: 0 });
  const keys = take(4 * KEYS, next);
  expect(keys.filter((key) => key.startsWith('user-'))).toHaveLength(2 * KEYS);
  expect(new Set(keys).size).toBe(3 * KEYS);
});

const TRAFFIC = { rate: 1000, burst: 24, durationMs: 20_000, seed: 7 } satisfies Partial<Traffic>;

test('requests that come as the bucket fills wait in one bucket as theory has it', () => {
  // 24 at once, of which each finds its token; the bucket is full again before the next.
  const traffic = { ...TRAFFIC, pattern: 'bursts size=24 everyMs=30' };
  expect(waitsOf(traffic, 1)).toEqual({ mean: 0, p99: 0 });
  // A bucket of 12 takes half of the burst at most, and some threads get more than half.
  expect(waitsOf(traffic, 2).mean).toBeGreaterThan(0);
});

test('a burst beyond the bucket waits for one token after the other', () => {
  const { mean, p99 } = waitsOf({ ...TRAFFIC, pattern: 'bursts size=48 everyMs=100' }, 1);
  // The last 24 of 48 wait for 1 to 24 ms.
  expect(mean).toBeCloseTo((24 * 25) / 2 / 48, 3);
  expect(p99).toBeCloseTo(24, 3);
});

test.each(['poisson rate=900', 'poisson rate=450 + bursts size=48 everyMs=106.7'])(
  'the more parts, the longer the waits: %s',
  (pattern) => {
    const means = [1, 2, 4, 8].map((parts) => waitsOf({ ...TRAFFIC, pattern }, parts).mean);
    expect(means).toEqual(means.toSorted((a, b) => a - b));
    expect(new Set(means).size).toBe(means.length);
  },
);

test('every call and every admission is counted', async () => {
  let calls = 0;
  const report = await calling(() => ++calls % 4 === 0)(1);
  expect(report.calls).toBe(calls);
  expect(report.admitted).toBe(Math.floor(calls / 4));
  expect(report.elapsedNs).toBeGreaterThanOrEqual(1e6);
});

test.each([1, 8, 64])('%i async calls are in flight at a time', async (inFlight) => {
  let calls = 0;
  let underWay = 0;
  let most = 0;
  const ask = async () => {
    calls++;
    most = Math.max(most, ++underWay);
    await new Promise(setImmediate);
    underWay--;
    return true;
  };
  const report = await asking(ask, inFlight)(1);
  expect(most).toBe(inFlight);
  expect(report).toMatchObject({ calls, admitted: calls });
});

function slowly(spends: readonly Spend[], rate: number): number {
  let most = 0;
  for (const { fromUs } of spends) {
    for (const { toUs } of spends) {
      const inside = spends.filter((spend) => spend.fromUs >= fromUs && spend.toUs <= toUs);
      const tokens = inside.reduce((sum, spend) => sum + spend.tokens, 0);
      if (toUs >= fromUs) most = Math.max(most, tokens - (rate * (toUs - fromUs)) / 1e6);
    }
  }
  return most;
}

test(`finds the tightest interval of all (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let round = 0; round < 300; round++) {
    const spends = Array.from({ length: random.below(30) }, () => {
      const fromUs = 1e9 + random.below(200);
      return { fromUs, toUs: fromUs + random.below(40), tokens: 1 + random.below(9) };
    });
    const rate = 1e5 * random.below(10);
    expect(mostBeyondRate(spends, rate)).toBeCloseTo(slowly(spends, rate), 5);
  }
});

test('an empty list of spends breaks no bound', () => {
  expect(mostBeyondRate([], 1)).toBe(0);
});
