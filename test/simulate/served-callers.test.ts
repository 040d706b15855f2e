import { describe, expect, it } from 'vitest';
import { PER_MS, summaryOf } from '../../src/load/measure/times.ts';
import { randomNumbers } from '../../src/load/plan/random.ts';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';
import { LatestByTime } from '../../src/simulate/outcomes.ts';
import { parsePattern } from '../../src/simulate/patterns.ts';
import { simulate } from '../../src/simulate/run.ts';
import { parseServer } from '../../src/simulate/server.ts';

const SEED = 3;

/** The outcomes of calls at these instants, in milliseconds. */
async function play(arrivals: readonly number[], limiter: string, server: string, waitMs = 0) {
  const batch = Float64Array.from(arrivals, (ms) => ms * 1_000);
  const { limiters } = await simulate([batch], [parseLimiter(limiter)], {
    waitMs,
    server: () => parseServer(server).create(SEED),
  });
  const { outcomes } = limiters[0] ?? {};
  if (outcomes === undefined) throw new Error('there is one');
  const { admissions, admittedAtOnce, admittedLater, refusedAtOnce, gaveUp } = outcomes;
  const slotMs = admissions.slotUs / 1_000;
  const starts = admissions.counts.flatMap((count, slot) =>
    Array<number>(count).fill(slot * slotMs),
  );
  return { starts, counts: [admittedAtOnce, admittedLater, refusedAtOnce, gaveUp], outcomes };
}

const AT_ONCE = [0, 0, 0, 0, 0, 0];

describe('calls that hold a permit until the response', () => {
  // docs/simulate.md: "Their callers sleep until"
  it('start as they do with a real semaphore and bucket', async () => {
    const both = 'semaphore permits=2 + token-bucket rate=10 burst=1';
    const { starts, outcomes } = await play(AT_ONCE, both, 'constant serviceMs=350', 1_000);
    // The same as in limited-semaphore.test.ts.
    expect(starts).toEqual([0, 100, 350, 450, 700, 800]);
    expect(outcomes.mostInFlight).toBe(2);
    expect(outcomes.bounds.map(({ peak, held }) => [Math.round(peak), held])).toEqual([
      [2, true],
      [1, true],
    ]);
  });

  it('are refused if they do not wait, and leave their permit', async () => {
    const both = 'semaphore permits=2 + token-bucket rate=10 burst=1';
    const { starts, counts } = await play([0, 0, 100, 200, 300], both, 'constant serviceMs=250');
    expect([starts, counts]).toEqual([
      [0, 100, 300],
      [3, 0, 2, 0],
    ]);
  });

  it('give up when the permit comes too late, or the token would', async () => {
    const one = await play([0, 0, 0, 0], 'semaphore permits=1', 'constant serviceMs=100', 150);
    expect([one.starts, one.counts]).toEqual([
      [0, 100],
      [1, 1, 0, 2],
    ]);
    const both = 'semaphore permits=2 + token-bucket rate=1 burst=1';
    const two = await play([0, 0, 10], both, 'constant serviceMs=100', 900);
    // The second gives up its permit at once, as its token comes after a second.
    expect(two.counts).toEqual([1, 0, 0, 2]);
  });

  it('give up, up to the last one, if there are no permits', async () => {
    const arrivals = Array.from({ length: 100 }, (_, i) => 100 * i);
    const none = await play(arrivals, 'semaphore permits=0', 'constant serviceMs=10', 2_000);
    expect(none.counts).toEqual([0, 0, 0, 100]);
  });

  it('queue at a server that is full, whatever the limiter admits', async () => {
    const free = await play([0, 0, 0], 'semaphore permits=3', 'constant serviceMs=100 capacity=1');
    expect(free.outcomes.responses.maxValue).toBeCloseTo(300_000, -3);
    expect(free.outcomes.mostInFlight).toBe(3);
    const bucket = await play([0, 0, 0], 'token-bucket rate=1 burst=2', 'constant serviceMs=100');
    expect([bucket.counts, bucket.outcomes.mostInFlight]).toEqual([[2, 0, 1, 0], 2]);
  });

  it('have response times of any length, and no percentile above the longest', async () => {
    const arrivals = Array.from({ length: 200 }, (_, i) => 50 * i);
    for (const longestMs of [7.2e6, 1e7]) {
      const server = `constant serviceMs=${longestMs}`;
      const { outcomes } = await play(arrivals, 'semaphore permits=200', server);
      const { p50, p99, max } = summaryOf(outcomes.responses, PER_MS.us) ?? {};
      expect([p50, p99, max]).toEqual([longestMs, longestMs, longestMs]);
      const [slot] = outcomes.responsesByTime.slotsOf(110);
      expect((slot?.p99Ms ?? 0) / longestMs).toBeCloseTo(1, 2);
      expect(slot?.p99Ms).toBeLessThanOrEqual(slot?.maxMs ?? 0);
    }
  });

  it('wait as long as queueing theory says', async () => {
    // M/M/1 with a load of 0.5: waits of load / (service rate - arrival rate) = 50 ms on average.
    const arrivals = parsePattern('poisson rate=10').arrivals(20_000e6, randomNumbers(SEED));
    const { limiters } = await simulate(arrivals, [parseLimiter('semaphore permits=1')], {
      waitMs: 1e6,
      server: () => parseServer('exponential serviceMs=50').create(SEED),
    });
    const { waits, responses } = limiters[0]?.outcomes ?? {};
    expect((waits?.mean ?? 0) / 1_000).toBeCloseTo(50, -1);
    expect((responses?.mean ?? 0) / 1_000).toBeCloseTo(50, 0);
  });

  it('need a server', async () => {
    const specs = [parseLimiter('semaphore permits=1')];
    await expect(simulate([], specs, { waitMs: 0 })).rejects.toThrow('needs a server');
  });
});

describe('a server', () => {
  it.each([
    ['constant', /serviceMs=/],
    ['constant serviceMs=0', /serviceMs must be/],
    ['exponential serviceMs=5 capacity=1.5', /capacity must be/],
    ['gamma serviceMs=5', /begin with one of constant, exponential/],
    ['constant serviceMs=1 + constant serviceMs=2', /one server/],
  ])('is not %j', (text, message) => {
    expect(() => parseServer(text)).toThrow(RangeError);
    expect(() => parseServer(text)).toThrow(message);
  });

  it.each([
    'token-bucket rate=1 burst=1 + semaphore permits=1',
    'semaphore permits=1 + semaphore permits=1',
  ])('has one semaphore before it, unlike %j', (text) => {
    expect(() => parseLimiter(text)).toThrow('A semaphore must come first, and only once');
  });
});

describe('a server whose capacity is reduced', () => {
  /** The instants of the responses to calls at these instants, all in milliseconds. */
  const answers = (text: string, arrivals: readonly number[]) => {
    const server = parseServer(text).create(SEED);
    return arrivals.map((ms) => server.respond(ms * 1_000) / 1_000);
  };

  it('ends what it has begun, and starts fewer calls until the capacity is back', () => {
    const text = 'constant serviceMs=100 capacity=3 reducedTo=1 fromMs=50 untilMs=250';
    // The fourth waits for all three, the fifth for its place, the others for the end.
    const arrivals = [0, 0, 0, 60, 60, 60, 60, 500];
    expect(answers(text, arrivals)).toEqual([100, 100, 100, 200, 300, 350, 350, 600]);
  });

  it('is an ordinary one before and after that', () => {
    const reduced = 'exponential serviceMs=10 capacity=2 reducedTo=1 fromMs=1000 untilMs=2000';
    const arrivals = Array.from({ length: 100 }, (_, i) => 3 * i);
    expect(answers(reduced, arrivals)).toEqual(
      answers('exponential serviceMs=10 capacity=2', arrivals),
    );
  });

  it.each([
    ['constant serviceMs=1 capacity=2 reducedTo=3 fromMs=1 untilMs=2', /reducedTo must be/],
    ['constant serviceMs=1 capacity=2 reducedTo=0 fromMs=1 untilMs=2', /reducedTo must be/],
    ['constant serviceMs=1 capacity=2 reducedTo=1 fromMs=2 untilMs=1', /untilMs must be/],
    ['constant serviceMs=1 capacity=2 reducedTo=1', /It must be constant/],
  ])('is refused as %j', (text, message) => {
    expect(() => parseServer(text)).toThrow(message);
  });
});

describe('a semaphore that adapts', () => {
  const server = 'exponential serviceMs=10 capacity=8 reducedTo=4 fromMs=10000 untilMs=20000';
  const one = parseLimiter('semaphore adapt=gradient max=50 initial=10');

  it('follows the capacity of the server', async () => {
    const arrivals = parsePattern('poisson rate=1200').arrivals(30e6, randomNumbers(SEED));
    const options = { waitMs: 0, server: () => parseServer(server).create(SEED) };
    const { limiters } = await simulate(arrivals, [one], options);
    const points = limiters[0]?.outcomes.permits?.points() ?? [];
    const median = (fromS: number, untilS: number) => {
      const within = points.filter(([at]) => at >= fromS && at < untilS).map(([, value]) => value);
      return within.sort((a, b) => a - b)[within.length >> 1] ?? 0;
    };
    expect([one.adapts, points[0]?.[1]]).toEqual([true, 10]);
    expect(median(5, 10)).toBeGreaterThan(9);
    expect(median(5, 10)).toBeLessThan(16);
    expect(median(14, 20)).toBeGreaterThan(4);
    expect(median(14, 20)).toBeLessThan(9);
    expect(median(24, 30)).toBeGreaterThan(9);
  });

  it.each([
    ['semaphore adapt=tcp max=5', 'adapt must be gradient, vegas, aimd, got "tcp".'],
    ['semaphore adapt=gradient', 'It must be semaphore permits=..., or semaphore adapt=... max='],
    ['semaphore adapt=gradient permits=5', 'It must be semaphore permits=..., or'],
    ['semaphore adapt=gradient max=5 min=6', /^min must be .* at most 5, got 6$/],
    ['semaphore adapt=gradient max=0', /^max must be an integer at least 1/],
    ['token-bucket adapt=gradient rate=1 burst=1', 'It must be token-bucket rate='],
  ])('is refused as %j', (text, message) => {
    expect(() => parseLimiter(text)).toThrow(message);
  });
});

it('keeps the latest value of each slot, and the one before in slots without a change', () => {
  const permits = new LatestByTime(20);
  permits.set(2_500, 10);
  permits.set(2_600, 11);
  permits.set(4_000, 12);
  expect(permits.points()).toEqual([
    [0.001, 20],
    [0.002, 20],
    [0.003, 11],
    [0.004, 11],
    [0.005, 12],
  ]);
});

it('widens its slots, which keep their latest value', () => {
  const permits = new LatestByTime(0);
  for (let ms = 0; ms < 1_001; ms++) permits.set(ms * 1_000, ms);
  const points = permits.points();
  expect(points.slice(0, 3)).toEqual([
    [0.01, 9],
    [0.02, 19],
    [0.03, 29],
  ]);
  expect(points.at(-1)).toEqual([1.01, 1_000]);
});

/** Instants in milliseconds, their peak, and whether the bound allows it. */
const CASES: readonly (readonly [
  limiter: string,
  ms: readonly number[],
  peak: number,
  held: boolean,
])[] = [
  ['token-bucket rate=1000 burst=2', [0, 0, 1, 2], 2, true],
  ['token-bucket rate=1000 burst=2', [0, 0, 1, 1], 3, false],
  ['token-bucket rate=1000 burst=2', [0, 10, 20, 20, 20.5], 2.5, false],
  ['token-bucket rate=1000 burst=2', [0, 10, 20, 20, 21, 22], 2, true],
  ['leaky-bucket rate=1000', [0, 1, 2, 2.999], 1.001, false],
  ['leaky-bucket rate=1000 slack=1', [0, 5, 5, 6], 2, true],
  ['token-bucket quantum=2 fillIntervalMs=10 burst=2', [9, 9, 10, 10, 20], 2, true],
  ['token-bucket quantum=2 fillIntervalMs=10 burst=2', [9, 9, 10, 10, 19], 3, false],
  ['sliding-log limit=2 intervalMs=10', [0, 5, 10, 15], 2, true],
  ['sliding-log limit=2 intervalMs=10', [0, 5, 9.999], 3, false],
  ['fixed-window limit=2 intervalMs=10', [9, 9, 10, 10, 20], 4, true],
  ['fixed-window limit=2 intervalMs=10', [9, 9, 10, 10, 18], 5, false],
  ['sliding-window limit=2 intervalMs=10 slots=5', [0, 0, 8], 2, true],
  ['sliding-window limit=2 intervalMs=10 slots=5', [0, 0, 7.9], 3, false],
];

describe('a bound', () => {
  it.each(CASES)('of %j: %j has a peak of %d, held is %s', (text, instants, peak, held) => {
    const [bound] = parseLimiter(text).bounds();
    for (const ms of instants) bound?.add(ms * 1_000);
    expect(bound?.peak).toBeCloseTo(peak, 9);
    expect(bound?.held).toBe(held);
  });

  it.each([
    ['token-bucket rate=1000 burst=2', 10, 12],
    ['token-bucket quantum=3 fillIntervalMs=10 burst=2', 25, 11],
    ['sliding-log limit=2 intervalMs=10', 25, 6],
    ['fixed-window limit=2 intervalMs=10', 25, 8],
    ['sliding-window limit=2 intervalMs=10 slots=5', 8, 2],
    ['sliding-window limit=2 intervalMs=10 slots=1', 10, 4],
  ])('of %j says how many a span of %d ms may hold: %d', (text, spanMs, most) => {
    expect(
      parseLimiter(text)
        .bounds()[0]
        ?.most(spanMs * 1_000),
    ).toBeCloseTo(most, 9);
  });
});
