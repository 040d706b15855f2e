import { describe, expect, it } from 'vitest';
import { exitCode } from '../../../src/cli/load/outcome.ts';
import { verdictLines } from '../../../src/cli/load/verdict.ts';
import type { FitnessLimit } from '../../../src/load/judge/fitness.ts';
import type { Gate } from '../../../src/load/judge/gates.ts';
import { checkGuarantee } from '../../../src/load/judge/guarantee.ts';
import { Tally } from '../../../src/load/measure/tally.ts';
import { type Change, FITNESS, OPTIONS, resultOf } from '../support/load-result.ts';

const [fitness, options] = [FITNESS, OPTIONS];

function lines(change: Change): string[] {
  return verdictLines(resultOf(change)).map(({ isGood, text }) => `${isGood ? '+' : '-'} ${text}`);
}

const limited = (...limits: FitnessLimit[]) => ({ fitness: { ...fitness, fit: false, limits } });
const LOOP: FitnessLimit = { kind: 'event loop', busy: 0.99 };
const MISSED = { sent: 500 };

/** The outcomes of requests without a success. */
function failed(count: number): Tally {
  const tally = new Tally();
  for (let i = 0; i < count; i += 1) tally.countError('timed out', 'too late');
  return tally;
}

describe('the verdict', () => {
  it.each<[string, Change, string]>([
    [
      'a broken guarantee',
      { guarantee: checkGuarantee(Float64Array.of(0, 0), 1, 1) },
      '- BROKEN: more requests than the guarantee allows, 2,000/s of 2,000/s',
    ],
    [
      'a client at its limit',
      { ...MISSED, ...limited(LOOP) },
      '- rate missed: 500/s of 2,000/s, limited by this client',
    ],
    [
      'processors at their limit',
      { ...MISSED, ...limited({ kind: 'processors', machine: 1, own: 0.2 }) },
      '- rate missed: 500/s of 2,000/s, limited by this client and other work on the machine',
    ],
    [
      'requests without a connection, where the client had time left',
      MISSED,
      '- rate missed: 500/s of 2,000/s, limited by the target or --connections',
    ],
    [
      'slots lost by a client that was not busy',
      { ...MISSED, admitted: 500 },
      '- rate missed: 500/s of 2,000/s, because this client was late',
    ],
    [
      'requests that all failed, at the rate',
      { tally: failed(2_000) },
      '- all 2,000 requests failed, at 2,000/s of 2,000/s',
    ],
    [
      'a single request that failed',
      { tally: failed(1) },
      '- the only request failed, at 2,000/s of 2,000/s',
    ],
    [
      'a thread that crashed',
      {
        ...MISSED,
        threads: [
          { admitted: 0, counters: { sent: 0, succeeded: 0, failed: 0 }, crash: 'out of luck' },
        ],
      },
      '- rate missed: 500/s of 2,000/s, because a thread crashed',
    ],
    [
      'one process of several',
      { ...MISSED, options: { ...options, fleet: { url: '', key: '', rate: 1, burst: 1 } } },
      '+ rate and guarantee held: 500/s of 2,000/s',
    ],
  ])('names %s first', (_name, change, first) => {
    expect(lines(change)[0]).toBe(first);
  });

  it.each([
    [0.2, 0, '+ guarantee held, rate within its gate: 500/s of 2,000/s', 1],
    [0.3, 3, '- rate missed: 500/s of 2,000/s, limited by the target or --connections', 2],
    [undefined, 3, '- rate missed: 500/s of 2,000/s, limited by the target or --connections', 1],
  ])(
    'says that the rate was missed only if it fails its gate: %s',
    (minShare, code, first, many) => {
      const gates: Gate[] = minShare === undefined ? [] : [{ kind: 'rate', minShare }];
      const outcome = resultOf({ ...MISSED, options: { ...options, gates } });
      expect(exitCode(outcome)).toBe(code);
      const about = verdictLines(outcome).filter(({ text }) => /rate/.test(text));
      expect(`${about[0]?.isGood ? '+' : '-'} ${about[0]?.text}`).toBe(first);
      expect(about).toHaveLength(many);
    },
  );

  it('says by how much a client was unfit', () => {
    const change = limited(
      { kind: 'lateness', lateMs: 3, latencyMs: 10 },
      { kind: 'connections', queuedMs: 5, latencyMs: 10, connections: 64, threads: 2 },
      LOOP,
      { kind: 'processors', machine: 0.97, own: 0.4 },
      { kind: 'samples', count: 12 },
    );
    expect(lines(change).slice(1)).toEqual([
      '- not fit to measure: this client was late by 3.00 ms at p99, 30.0 % of the latency (at most 10 % is fit)',
      '- not fit to measure: all 64 connections of 2 threads were busy, for 5.00 ms at p99, 50.0 % of the latency (at most 10 % is fit)',
      '- not fit to measure: the busiest event loop of this client was 99.0 % busy',
      '- not fit to measure: the processors were 97.0 % busy, 40.0 % with this client',
      '- not fit to measure: 12 responses are too few for p99',
    ]);
  });

  it('does not judge the latencies of the embedded server, but says what they are worth', () => {
    const ofExample = { options: { ...options, url: undefined } };
    const unfit = limited({ kind: 'lateness', lateMs: 3, latencyMs: 10 }, LOOP);
    const [first, second, ...others] = verdictLines(resultOf({ ...ofExample, ...unfit }));
    expect(first).toEqual({ isGood: true, text: 'rate and guarantee held: 2,000/s of 2,000/s' });
    expect(second).toEqual({
      isGood: true,
      isNote: true,
      text:
        'the latencies are only an example, since client and server share this machine: ' +
        'this client was late by 3.00 ms at p99, 30.0 % of the latency (at most 10 % is fit); ' +
        'the busiest event loop of this client was 99.0 % busy',
    });
    expect(others).toEqual([]);
    const few = limited({ kind: 'samples', count: 1 });
    expect(verdictLines(resultOf({ ...ofExample, ...few }))[1]?.text).toMatch(/this machine$/);
    expect(lines(ofExample)[1]).toMatch(/^\+ fit to measure/);
    expect(lines({ ...ofExample, ...MISSED })[0]).toMatch(/^- rate missed/);
    const task = { url: 'file:///task.mjs', data: undefined, concurrency: 1 };
    const ofTask = { options: { ...ofExample.options, task } };
    expect(lines({ ...ofTask, ...unfit })[1]).toMatch(/^- not fit to measure/);
  });

  it('counts one response as one', () => {
    const [, text] = lines(limited({ kind: 'samples', count: 1 }));
    expect(text).toBe('- not fit to measure: 1 response is too few for p99');
  });

  it('gives the range of p99 where it has one', () => {
    const p99Ms = { low: 0.9, high: 1.2 };
    expect(lines({ fitness: { ...fitness, p99Ms } })[1]).toBe(
      '+ fit to measure: this client was 0.01 ms late at p99, and 25.0 % busy; p99 lies between 0.90 ms and 1.20 ms with 95 % confidence',
    );
    expect(lines({ fitness: { ...fitness, p99Ms: null } })[1]).toMatch(/25\.0 % busy$/);
  });

  it('has nothing to say about measuring where there was no response', () => {
    expect(lines({ tally: new Tally() })).toHaveLength(1);
  });
});
