import { expect, test } from 'vitest';
import { ArrivalServer, arrivalsOf } from '../../bench/arrivals.ts';
import { calibrationMs, p99Of } from '../../bench/generators.ts';
import {
  percentileOf,
  type Schedule,
  type Served,
  trueLatencies,
} from '../../bench/true-latency.ts';

const OF_RUN: Schedule = { of: 'run', isEarly: false };
const OF_CONNECTION: Schedule = { of: 'connection', isEarly: false };

/** Requests as [arrived, answered, connection], in milliseconds from an arbitrary instant. */
function served(requests: readonly (readonly [number, number, number?])[]): Served {
  const us = (ms: number) => 7e12 + ms * 1_000;
  return {
    arrivedUs: Float64Array.from(requests, ([arrived]) => us(arrived)),
    answeredUs: Float64Array.from(requests, ([, answered]) => us(answered)),
    connections: Float64Array.from(requests, ([, , connection = 1]) => connection),
  };
}

test('requests on time have the latency of their service', () => {
  const onTime = served([0, 10, 20, 30].map((ms) => [ms, ms + 2]));
  expect([...trueLatencies(onTime, OF_RUN, 100, 0)]).toEqual([2, 2, 2, 2]);
});

test('requests that a stall held up count from when they were due', () => {
  // Stalled from 5 ms to 35 ms: those due at 10, 20 and 30 arrive after it.
  const stalled = served([
    [0, 1],
    [35, 36],
    [36, 37],
    [37, 38],
    [40, 41],
  ]);
  expect([...trueLatencies(stalled, OF_RUN, 100, 0)]).toEqual([1, 1, 8, 17, 26]);
});

test('the schedule begins as late as all arrivals allow', () => {
  // The first one comes 3 ms late.
  const late = served([
    [3, 4],
    [10, 11],
    [20, 21],
  ]);
  expect([...trueLatencies(late, OF_RUN, 100, 0)]).toEqual([1, 1, 4]);
});

test('each connection may have a schedule of its own', () => {
  // Two connections of 50 a second each, 3 ms apart; the second one is held up once.
  const both = served([
    [0, 1, 1],
    [3, 4, 2],
    [20, 21, 1],
    [33, 34, 2],
    [40, 41, 1],
    [43, 44, 2],
  ]);
  expect([...trueLatencies(both, OF_CONNECTION, 100, 0)]).toEqual([1, 1, 1, 1, 1, 11]);
});

test('requests sent early count from their arrival', () => {
  const early = served([
    [0, 1],
    [1, 2],
    [2, 3],
    [45, 46],
  ]);
  expect([...trueLatencies(early, { of: 'run', isEarly: true }, 100, 0)]).toEqual([1, 1, 1, 16]);
});

test('what arrived before the latencies count still says when later requests were due', () => {
  const all = served([
    [0, 1],
    [10, 11],
    [26, 27],
  ]);
  expect([...trueLatencies(all, OF_RUN, 100, 7e12 + 15_000)]).toEqual([7]);
});

test('a percentile is the smallest value with that share at or below it', () => {
  const values = Float64Array.from({ length: 200 }, (_, at) => at + 1);
  expect([50, 99, 99.5, 100].map((p) => percentileOf(values, p))).toEqual([100, 198, 199, 200]);
  expect(percentileOf(Float64Array.of(), 99)).toBeNaN();
});

test('requests are counted per time slice from the first one on, and per connection', () => {
  const startUs = 5e12;
  const at = (ms: number, connection: number) => ({ atUs: startUs + ms * 1000, connection });
  const came = [at(0, 1), at(99.9, 2), at(100, 1), at(350, 1), at(399, 2), at(400, 2)];
  expect(arrivalsOf(came, 400, 100)).toEqual({
    count: 6,
    slices: [2, 1, 0, 2],
    connections: [3, 3],
  });
});

test('without arrivals every slice is empty', () => {
  expect(arrivalsOf([], 300, 100)).toEqual({ count: 0, slices: [0, 0, 0], connections: [] });
});

test('the server records each request once', async () => {
  const server = await ArrivalServer.listen();
  try {
    for (let i = 0; i < 3; i++) expect(await (await fetch(server.url)).text()).toBe('zerotime\n');
    const came = server.take();
    expect(came).toHaveLength(3);
    const instants = came.map(({ atUs }) => atUs);
    expect(instants).toEqual(instants.toSorted((a, b) => a - b));
    expect(server.take()).toEqual([]);
  } finally {
    server.close();
  }
});

const summary = (p99: string) => `
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.13ms
 90.000%    1.70ms
 99.000%  ${p99}
 99.900%    3.10ms
`;

test.each([
  ['  812.00us', 0.812],
  ['    2.52ms', 2.52],
  ['    1.20s ', 1_200],
  ['    1.50m ', 90_000],
])('the p99 of wrk2 is read with its unit: %s', (text, ms) => {
  expect(p99Of(summary(text))).toBeCloseTo(ms, 9);
});

test('a summary without a p99 is an error that shows it', () => {
  expect(() => p99Of('unable to connect')).toThrow('unable to connect');
});

test('wrk2 calibrates longer with more connections', () => {
  expect(calibrationMs(2, 64)).toBe(10_160);
});
