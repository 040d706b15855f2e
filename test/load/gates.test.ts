import { describe, expect, it } from 'vitest';
import { checkGates, type Gate, type Gated, gatesInForce } from '../../src/load/judge/gates.ts';
import { Tally } from '../../src/load/measure/tally.ts';

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
