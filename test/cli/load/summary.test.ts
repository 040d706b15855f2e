import { describe, expect, it } from 'vitest';
import { exitCode } from '../../../src/cli/load/outcome.ts';
import { renderSummary } from '../../../src/cli/load/summary.ts';
import { verdictLines } from '../../../src/cli/load/verdict.ts';
import { COLOURS, PLAIN } from '../../../src/cli/terminal.ts';
import type { FitnessLimit } from '../../../src/load/judge/fitness.ts';
import type { Gate, GateResult } from '../../../src/load/judge/gates.ts';
import { checkGuarantee } from '../../../src/load/judge/guarantee.ts';
import { Tally } from '../../../src/load/measure/tally.ts';
import type { LoadOptions } from '../../../src/load/plan/options.ts';
import { type Change, FITNESS, OPTIONS, RATE, resultOf } from '../support/load-result.ts';

function summaryOf(change: Change = {}): string {
  return renderSummary(resultOf(change), PLAIN).join('\n');
}

describe('renderSummary', () => {
  it('shows a changed rate: its mean, its range and the inflow', () => {
    const text = summaryOf({ wantedRatePerSecond: RATE, wantedRangePerSecond: [500, 5_000] });
    expect(text).toContain('2,000/s wanted on average, from 500/s to 5,000/s');
    expect(text).toContain('at most 1 + each rate x its time requests');
  });

  it('shows a successful run', () => {
    expect(summaryOf()).toBe(`
  Verdict     ✔ rate and guarantee held: 2,000/s of 2,000/s
              ✔ fit to measure: this client was 0.01 ms late at p99, and 25.0 % busy

  Target      http://example.com/
  Rate        2,000/s wanted
              2,000/s achieved  ✔ +0.00 %  2,000 requests in 1 s
              ▇▇▇▇▇▇▇▇▇▇ each 100 ms

  Guarantee   ✔ held: in every span of t seconds at most 1 + 2,000 x t requests
              tightest of 2,001,000 spans: 2,000 in 999.5 ms, 2,000 allowed

  Latency            p50       p90       p99     p99.9       max
    in all       0.45 ms   0.45 ms   0.45 ms   0.45 ms   0.45 ms   due → answered
    client       0.45 ms   0.45 ms   0.45 ms   0.45 ms   0.45 ms   due → noticed by this client
    queue        0.45 ms   0.45 ms   0.45 ms   0.45 ms   0.45 ms   noticed → a connection is free
    response     0.45 ms   0.45 ms   0.45 ms   0.45 ms   0.45 ms   sent → answered

  Responses   200 OK                        2,000   100.0 %
  Errors      none

  Threads     1        1,200    60.0 %
              2          800    40.0 %
`);
  });

  it('of the embedded server ends with what to do next, and marks no failure', () => {
    const change: Change = {
      options: { ...OPTIONS, url: undefined },
      fitness: {
        ...FITNESS,
        fit: false,
        limits: [{ kind: 'lateness', lateMs: 3, latencyMs: 10 }],
      },
    };
    const text = summaryOf(change);
    expect(text).toMatch(/\n {14}– the latencies are only an example, since client and server/);
    expect(text).not.toContain('✘');
    expect(text).toMatch(/\n {2}Next {8}zerotime load URL measures your server; .* options\n$/);
    expect(summaryOf()).not.toContain('Next');
  });

  it('says how many requests the warm-up took, and how many of them failed', () => {
    const warmUp = { sent: 2_000, succeeded: 1_990, failed: 10 };
    expect(summaryOf({ warmUp })).toContain(
      'after a warm-up of 2,000 requests, of which 10 failed\n',
    );
    expect(summaryOf({ warmUp: { ...warmUp, failed: 0 } })).toContain('of 2,000 requests\n');
  });

  it.each([60, 72, 80])('fits %d columns', (columns) => {
    const tally = new Tally();
    tally.countStatus(503);
    tally.countError('timed out', 'no complete response within 5000 ms of its sending');
    tally.recordLatency(0, 9_990_000);
    const threads = resultOf().threads.map(({ calls, ...thread }) => ({
      ...thread,
      counters: calls,
      crash: 'out of luck',
    }));
    for (const change of [{}, { tally }, { threads }, { sent: 500 }]) {
      const lines = renderSummary(resultOf(change), PLAIN, columns);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
      // The columns of the table are aligned, and each word is there.
      const rows = lines.filter((line) => /^ {4}(in all|client|queue|response)/.test(line));
      expect(new Set(rows.map(({ length }) => length)).size).toBeLessThanOrEqual(1);
      const words = (text: string) => text.match(/[a-z]+/g) ?? [];
      const whole = renderSummary(resultOf(change), PLAIN).join('\n');
      const shown = new Set(words(lines.join('\n')));
      expect(words(whole).filter((word) => !shown.has(word))).toEqual([]);
    }
  });

  it('shows the same in colours', () => {
    const coloured = renderSummary(resultOf(), COLOURS).join('\n');
    expect(coloured).toContain('\u001b[32m✔ held\u001b[39m');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours are to be taken out
    expect(coloured.replaceAll(/\u001b\[\d+m/g, '')).toBe(summaryOf());
  });

  it('explains why the rate was missed', () => {
    expect(summaryOf({ sent: 500 })).toMatch(
      /500\/s achieved {2}-75\.00 %.*\n.*\n +1,500 requests found no free connection in time/,
    );
    expect(summaryOf({ sent: 1_999 })).toMatch(/ 1 request found no free/);
    expect(summaryOf({ admitted: 1_990, sent: 1_990 })).toMatch(
      /-0\.50 %.*\n.*\n +10 slots of the schedule were lost/,
    );
    expect(summaryOf({ admitted: 1_999, sent: 1_999 })).not.toMatch(/lost/);
    const shared = { ...OPTIONS, fleet: { url: '', key: '', rate: RATE, burst: 1 } };
    const half = { admitted: 1_000, sent: 1_000, options: shared };
    expect(summaryOf(half)).not.toMatch(/lost/);
  });

  it.each<[string, Partial<LoadOptions>, string]>([
    ['even arrivals', {}, 'A higher --burst lets it catch up'],
    ['a ramp', { ramp: { from: 1, to: 2, overMs: 3 } }, 'Use more --threads, or'],
    ['poisson', { arrivals: { kind: 'poisson', seed: 1 } }, 'Use more --threads, or'],
  ])('gives advice that is possible: %s', (_name, more, advice) => {
    const options = { ...OPTIONS, ...more };
    expect(summaryOf({ admitted: 1_990, sent: 1_990, options })).toContain(`too busy. ${advice}`);
  });

  it('lists the responses and errors, the most frequent error first', () => {
    const tally = new Tally();
    tally.countStatus(503);
    tally.countStatus(200);
    tally.countError('connection reset', 'read ECONNRESET');
    for (let i = 0; i < 5; i += 1) tally.countError('unsent', 'none free');
    expect(summaryOf({ tally })).toContain(`
  Responses   200 OK                            1    12.5 %
              503 Service Unavailable           1    12.5 %
  Errors      unsent                            5    62.5 %   none free
              connection reset                  1    12.5 %   read ECONNRESET
`);
  });

  it('shows many threads by their range', () => {
    const thread = { counters: { sent: 0, succeeded: 0, failed: 0 }, crash: undefined };
    const threads = Array.from({ length: 20 }, (_, index) => ({ ...thread, admitted: 90 + index }));
    expect(summaryOf({ threads })).toMatch(/Threads +20, each with 4\.5 % to 5\.5 % of the req/);
  });
});

const FAILED: GateResult = {
  gate: { kind: 'rate', minShare: 0.99 },
  passed: false,
  actual: 0.16,
};

it('has a line for each gate that failed', () => {
  const gate = { kind: 'errors', maxShare: 0.01 } as const;
  const text = summaryOf({ gates: [FAILED, { gate, passed: true, actual: 0 }] });
  expect(text).toMatch(/^ +✘ gate failed: 16 % of the rate was sent, wanted at least 99 %$/m);
  expect(text).not.toContain('requests failed');
});

const NO_CALLS = { sent: 0, succeeded: 0, failed: 0 };
const CRASHED = { admitted: 0, counters: NO_CALLS, crash: 'Error: no memory' };

describe('exitCode', () => {
  it.each<[string, Change, number]>([
    ['all went well', {}, 0],
    ['it was ended early', { interrupted: true }, 0],
    ['no request succeeded', { tally: new Tally() }, 1],
    ['a thread crashed', { threads: [CRASHED] }, 1],
    ['a gate failed', { gates: [FAILED] }, 3],
    ['a gate failed that no request came to', { gates: [FAILED], tally: new Tally() }, 1],
    ['the guarantee is broken', { guarantee: checkGuarantee(Float64Array.of(0, 0), 1, 1) }, 2],
  ])('when %s', (_when, change, code) => {
    expect(exitCode(resultOf(change))).toBe(code);
  });
});

function lines(change: Change): string[] {
  return verdictLines(resultOf(change)).map(({ isGood, text }) => `${isGood ? '+' : '-'} ${text}`);
}

const limited = (...limits: FitnessLimit[]) => ({ fitness: { ...FITNESS, fit: false, limits } });
const LOOP: FitnessLimit = { kind: 'event loop', busy: 0.99 };
const PROCESSORS: FitnessLimit = { kind: 'processors', machine: 1, own: 0.2 };
const FULL: FitnessLimit = {
  kind: 'connections',
  queuedMs: 5,
  latencyMs: 10,
  connections: 64,
  threads: 2,
};
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
      { ...MISSED, ...limited(PROCESSORS) },
      '- rate missed: 500/s of 2,000/s, limited by this client and other work on the machine',
    ],
    [
      'a target that answers nothing, at whatever limit the processors are',
      { tally: failed(500), ...MISSED, ...limited(FULL, PROCESSORS) },
      '- rate missed: 500/s of 2,000/s, limited by the target or --connections',
    ],
    [
      'processors at their limit that may have kept connections busy',
      { ...MISSED, ...limited(FULL, PROCESSORS) },
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
      'a run that is too short for its rate',
      { sent: 0, admitted: 0, wantedRatePerSecond: 0, tally: new Tally() },
      '- no request came due, at 0/s of 0/s',
    ],
    [
      'a thread that crashed',
      {
        ...MISSED,
        threads: [CRASHED],
      },
      '- rate missed: 500/s of 2,000/s, because a thread crashed',
    ],
    [
      'one process of several',
      { ...MISSED, options: { ...OPTIONS, fleet: { url: '', key: '', rate: 1, burst: 1 } } },
      '+ guarantee held: 500/s of the shared 2,000/s',
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
      const outcome = resultOf({ ...MISSED, options: { ...OPTIONS, gates } });
      expect(exitCode(outcome)).toBe(code);
      const about = verdictLines(outcome).filter(({ text }) => /rate/.test(text));
      expect(`${about[0]?.isGood ? '+' : '-'} ${about[0]?.text}`).toBe(first);
      expect(about).toHaveLength(many);
    },
  );

  it('says by how much a client was unfit', () => {
    const change = limited(
      { kind: 'lateness', lateMs: 3, latencyMs: 10 },
      FULL,
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
    const ofExample = { options: { ...OPTIONS, url: undefined } };
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
    expect(lines({ fitness: { ...FITNESS, p99Ms } })[1]).toBe(
      '+ fit to measure: this client was 0.01 ms late at p99, and 25.0 % busy; p99 lies between 0.90 ms and 1.20 ms with 95 % confidence',
    );
    expect(lines({ fitness: { ...FITNESS, p99Ms: null } })[1]).toMatch(/25\.0 % busy$/);
  });

  it('has nothing to say about measuring where there was no response', () => {
    expect(lines({ tally: new Tally() })).toHaveLength(1);
  });
});
