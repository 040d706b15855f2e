import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type FitnessOptions, fitnessOf } from '../../src/load/judge/fitness.ts';
import { checkGates, type Gate, type Gated, gatesInForce } from '../../src/load/judge/gates.ts';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import { cpuGauge, loopGauge, UseGauge } from '../../src/load/measure/gauges.ts';
import { Tally } from '../../src/load/measure/tally.ts';
import { isBehind } from '../../src/load/send/queued-work.ts';

const MS = 1_000;
/** An uptime of ten days in microseconds, where doubles are coarser than near zero. */
const UPTIME_US = 864_000e6;

function log(...instantsMs: number[]): Float64Array {
  return Float64Array.from(instantsMs, (ms) => UPTIME_US + ms * MS);
}

/** Checks every pair, as the guarantee is defined. */
function holdsByAllPairs(instants: Float64Array, rate: number, burst: number): boolean {
  return instants.every((end, j) =>
    instants
      .subarray(0, j + 1)
      .every((start, i) => j - i + 1 <= burst + (rate * (end - start)) / 1e6 + 1e-4),
  );
}

describe('checkGuarantee', () => {
  it.each([
    // rate, burst, instants in ms, held
    [1000, 1, [], true],
    [1000, 1, [0], true],
    [1000, 1, [0, 1, 2, 3], true],
    [1000, 1, [0, 1, 1.9, 3], false],
    [1000, 1, [0, 0], false],
    [1000, 2, [0, 0], true],
    [1000, 2, [0, 0, 0], false],
    [1000, 2, [0, 0, 1, 2], true],
    [1000, 2, [0, 0, 1, 1, 2], false],
    [1000, 2, [0, 0, 5, 5, 6], true],
    [1000, 3, [0, 10, 20, 20, 20, 20], false],
    [0.5, 1, [0, 2000, 4000], true],
    [0.5, 1, [0, 1999, 4000], false],
    [1e6, 1, [0, 0.001, 0.002], true],
    [1e6, 1, [0, 0.001, 0.001], false],
  ])('rate %d, burst %d: %j held is %s', (rate, burst, instantsMs, held) => {
    expect(checkGuarantee(log(...instantsMs), rate, burst).held).toBe(held);
  });

  it('notices one token too many anywhere in a long log', () => {
    const rate = 2_000;
    const schedule = Array.from({ length: 20_000 }, (_, index) => index / 2);
    expect(checkGuarantee(log(...schedule), rate, 1).held).toBe(true);
    for (const at of [0, 1, 9_999, 19_999]) {
      const oneMore = [...schedule.slice(0, at), at / 2, ...schedule.slice(at)];
      const verdict = checkGuarantee(log(...oneMore), rate, 1);
      expect(verdict.held).toBe(false);
      expect(verdict.tightest?.admitted).toBeGreaterThan(verdict.tightest?.allowed ?? 0);
    }
  });

  it('tolerates the rounding of doubles, and much less than a token', () => {
    const { toleranceInTokens: tolerance } = checkGuarantee(log(0, 1, 2), 1e6, 1);
    expect(tolerance).toBeGreaterThan(0);
    expect(tolerance).toBeLessThan(0.01);
  });

  it('agrees with a check of every pair', () => {
    const logs = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 30 });
    fc.assert(
      fc.property(logs, fc.integer({ min: 1, max: 4 }), (steps, burst) => {
        const instants = log(...steps.toSorted((a, b) => a - b));
        expect(checkGuarantee(instants, 500, burst).held).toBe(
          holdsByAllPairs(instants, 500, burst),
        );
      }),
    );
  });

  it('reports the tightest interval', () => {
    // Two pairs are equally close to the limit of 2; then follow three in 1 ms, where 3 are
    // allowed.
    const { tightest } = checkGuarantee(log(0, 10, 20, 20, 21), 1_000, 2);
    expect(tightest).toMatchObject({ admitted: 3, startsAfterMs: 20, lengthMs: 1 });
    expect(tightest?.allowed).toBeCloseTo(3, 6);
  });

  it('reports the longest of equally tight intervals', () => {
    const { tightest, intervals } = checkGuarantee(log(0, 1, 2, 3), 1_000, 1);
    expect(tightest).toMatchObject({ admitted: 4, startsAfterMs: 0, lengthMs: 3 });
    expect(intervals).toBe(10);
  });

  it('rejects a log that is unsorted or contains other values than numbers', () => {
    expect(() => checkGuarantee(log(1, 0), 1, 1)).toThrow(RangeError);
    expect(() => checkGuarantee(log(0, Number.NaN), 1, 1)).toThrow(RangeError);
  });
});

/** A second at 1,000/s with latencies of 1 to `answered` ms. */
function gated(answered: number, failed: number, sent = answered + failed): Gated {
  const tally = new Tally();
  for (let ms = 1; ms <= answered; ms++) {
    tally.countStatus(200);
    tally.record('latency', 1_000 * ms);
  }
  for (let i = 0; i < failed; i++) tally.countError('connection reset', 'ECONNRESET');
  const calls = { ...tally.counters, sent };
  const { latency } = tally.histograms;
  return { calls, latency, perMs: 1_000, elapsedMs: 1_000, wantedRatePerSecond: 1_000 };
}

const p = (percentile: number, maxMs: number): Gate => ({ kind: 'latency', percentile, maxMs });

describe('checkGates', () => {
  it.each<[string, Gated, Gate, boolean]>([
    ['p50 below its bound', gated(100, 0), p(50, 51), true],
    ['p50 above its bound', gated(100, 0), p(50, 49), false],
    ['p99 above its bound, where p50 is below', gated(100, 0), p(99, 60), false],
    ['no latency at all', gated(0, 5), p(99, 1e6), false],
    ['as many errors as allowed', gated(99, 1), { kind: 'errors', maxShare: 0.01 }, true],
    ['one error more', gated(98, 2), { kind: 'errors', maxShare: 0.01 }, false],
    ['29 % errors', gated(71, 29), { kind: 'errors', maxShare: 0.29 }, true],
    [
      'one less than 57 % of 100',
      { ...gated(56, 0), wantedRatePerSecond: 100 },
      { kind: 'rate', minShare: 0.57 },
      false,
    ],
    ['no request, so no errors', gated(0, 0), { kind: 'errors', maxShare: 0 }, true],
    ['99 % of the rate', gated(990, 0), { kind: 'rate', minShare: 0.99 }, true],
    ['less than 99 % of it', gated(989, 0), { kind: 'rate', minShare: 0.99 }, false],
    ['too little sent, although all answered', gated(9, 0), { kind: 'rate', minShare: 0.5 }, false],
    [
      'a run shorter than one slot',
      { ...gated(0, 0), elapsedMs: 0.5 },
      { kind: 'rate', minShare: 1 },
      true,
    ],
  ])('%s', (_name, result, gate, passed) => {
    expect(checkGates(result, [gate])).toMatchObject([{ gate, passed }]);
  });

  it('tells the value that it compared', () => {
    const gates = checkGates(gated(75, 25, 80), [
      { kind: 'errors', maxShare: 0.01 },
      { kind: 'rate', minShare: 0.99 },
      p(100, 20),
    ]);
    expect(gates.map(({ actual }) => actual)).toEqual([0.25, 0.08, expect.closeTo(75, 0)]);
  });
});

describe('gatesInForce', () => {
  const failing = (result: Gated, given: Gate[] = [], isShared = false) =>
    checkGates(result, gatesInForce(given, isShared)).filter(({ passed }) => !passed);

  it('fails a run of 90 % errors, and one that sent 16 % of its rate', () => {
    expect(failing(gated(100, 900))).toMatchObject([{ gate: { kind: 'errors' }, actual: 0.9 }]);
    expect(failing(gated(160, 0))).toMatchObject([{ gate: { kind: 'rate' }, actual: 0.16 }]);
    expect(failing(gated(600, 400))).toEqual([]);
  });

  it('prefers the gates given, and expects no rate of one process of several', () => {
    const lenient: Gate[] = [
      { kind: 'errors', maxShare: 1 },
      { kind: 'rate', minShare: 0 },
    ];
    expect(failing(gated(1, 99), lenient)).toEqual([]);
    expect(failing(gated(100, 0), [], true)).toEqual([]);
  });
});

/** Requests of 10 ms, of which the client was late by, and waited for a connection for, so long. */
function measured({ lateMs = 0.1, queuedMs = 0.1, count = 1_000 } = {}) {
  const tally = new Tally();
  for (let i = 0; i < count; i++) {
    tally.counters.succeeded += 1;
    tally.record('latency', 10_000);
    tally.record('clientLag', 1_000 * lateMs);
    tally.record('queued', 1_000 * queuedMs);
  }
  const full = { threads: 2, connections: 64 };
  return { tally, full, loops: [0.2, 0.5], processors: { machine: 0.6, own: 0.3 } };
}

describe('fitnessOf', () => {
  it('finds a client fit that adds little to what it measures', () => {
    expect(fitnessOf(measured({ lateMs: 0.9, queuedMs: 0.9 }))).toMatchObject({
      fit: true,
      limits: [],
      lateMs: expect.closeTo(0.9, 2),
      busiestLoop: 0.5,
      p99Ms: { low: expect.closeTo(10, 1), high: expect.closeTo(10, 1) },
    });
  });

  it.each<[string, FitnessOptions, object]>([
    ['lateness', measured({ lateMs: 1.1 }), { lateMs: expect.closeTo(1.1, 2) }],
    ['connections', measured({ queuedMs: 2 }), { connections: 64, threads: 2 }],
    ['event loop', { ...measured(), loops: [0.1, 0.96] }, { busy: 0.96 }],
    ['processors', { ...measured(), processors: { machine: 0.99, own: 0.1 } }, { own: 0.1 }],
    ['samples', measured({ count: 300 }), { count: 300 }],
    ['samples', measured({ count: 0 }), { count: 0 }],
  ])('names the limit: %s', (kind, options, more) => {
    const { fit, limits } = fitnessOf(options);
    expect(fit).toBe(false);
    expect(limits).toMatchObject([{ kind, ...more }]);
  });

  it('names no connections if some were free whenever a request was due', () => {
    const full = { threads: 0, connections: 0 };
    expect(fitnessOf({ ...measured({ queuedMs: 9 }), full })).toMatchObject({ fit: true });
  });

  it('calls lateness no part of a latency that nobody knows', () => {
    const tally = new Tally();
    tally.record('clientLag', 800);
    tally.record('queued', 200);
    expect(fitnessOf({ ...measured(), tally }).limits).toEqual([{ kind: 'samples', count: 0 }]);
  });

  it.each(['timed out', 'interrupted'])(
    'names the connections that requests filled until they were %s, without a success',
    (kind) => {
      const options = measured({ lateMs: 0.1, queuedMs: 9 });
      const { tally } = options;
      Object.assign(tally.counters, { sent: 64, succeeded: 0 });
      for (let i = 0; i < 33; i++) tally.countError(kind, 'no answer');
      expect(fitnessOf(options).limits).toMatchObject([{ kind: 'connections', connections: 64 }]);
      tally.counters.sent = 66;
      expect(fitnessOf(options)).toMatchObject({ fit: true });
    },
  );

  it('gives p99 a range that the order statistics support', () => {
    const tally = new Tally();
    for (let us = 1; us <= 10_000; us++) tally.record('latency', us);
    const { p99Ms } = fitnessOf({ ...measured(), tally });
    // 9,900 plus and minus 1.96 deviations of 9.95 each.
    expect(p99Ms?.low).toBeCloseTo(9.88, 1);
    expect(p99Ms?.high).toBeCloseTo(9.92, 1);
    expect(p99Ms?.low).toBeLessThan(9.9);
    expect(p99Ms?.high).toBeGreaterThan(9.9);
  });
});

describe('UseGauge', () => {
  it('tells the share of each part, in all and recently', () => {
    const now = { totalMs: 0, machine: 0, own: 0 };
    const read = () => ({ totalMs: now.totalMs, usedMs: { machine: now.machine, own: now.own } });
    const cpu = new UseGauge(read, 200);
    expect(cpu.use).toEqual({ machine: 0, own: 0 });
    Object.assign(now, { totalMs: 1_000, machine: 750, own: 500 });
    expect(cpu.recent).toEqual({ machine: 0.75, own: 0.5 });
    Object.assign(now, { totalMs: 1_199, machine: 750 });
    expect(cpu.recent).toEqual({ machine: 0.75, own: 0.5 });
    Object.assign(now, { totalMs: 2_000, machine: 750 });
    expect(cpu.recent).toEqual({ machine: 0, own: 0 });
    expect(cpu.use).toEqual({ machine: 0.375, own: 0.25 });
    cpu.begin();
    expect(cpu.use).toEqual({ machine: 0, own: 0 });
  });

  it('of an event loop counts the sleeps of the pacer as time to spare', () => {
    const loop = { active: 5, idle: 5, sleptMs: 0 };
    vi.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => ({
      ...loop,
      utilization: 0,
    }));
    const gauge = loopGauge(() => loop.sleptMs);
    expect(gauge.use.busy).toBe(0);
    Object.assign(loop, { active: 85, idle: 25, sleptMs: 30 });
    expect(gauge.use.busy).toBe(0.5);
    gauge.begin();
    loop.active += 99;
    expect(gauge.use.busy).toBe(1);
    // Its window is 100 ms.
    expect(gauge.recent.busy).toBe(0);
    loop.active += 1;
    expect(gauge.recent.busy).toBe(1);
  });

  it('reads this machine, and the thread that it runs in', () => {
    const { machine, own } = cpuGauge().use;
    const { busy } = loopGauge(() => 0).use;
    for (const share of [machine, own, busy]) expect(share >= 0 && share <= 1).toBe(true);
  });
});

// docs/load.md: "A slow target alone never has this effect"
it('a thread leaves slots to others only where this client is at its limit, not a slow target', () => {
  const work = (queued: number) => ({ queued, capacity: 16 });
  const idle = { recent: { busy: 0.95 } };
  const busy = { recent: { busy: 0.96 } };
  expect(isBehind(work(1e6), idle, false)).toBe(false);
  expect(isBehind(work(17), busy, false)).toBe(true);
  expect(isBehind(work(16), busy, false)).toBe(false);
  expect(isBehind(work(10_000), idle, true)).toBe(false);
  expect(isBehind(work(10_001), idle, true)).toBe(true);
});
