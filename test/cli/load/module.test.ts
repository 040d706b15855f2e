import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatShortTime } from '../../../src/cli/format.ts';
import { renderSummary } from '../../../src/cli/load/summary.ts';
import { limitText, verdictLines } from '../../../src/cli/load/verdict.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { parseTarget } from '../../../src/cli/values.ts';
import { closedFigures, type RoundOfAll } from '../../../src/load/closed/run-rounds.ts';
import { resultOf as driveResult } from '../../../src/load/judge/result-of.ts';
import { Tally, totalOf } from '../../../src/load/measure/tally.ts';
import type { DriveResult } from '../../../src/load.ts';
import { folderOfFile, written } from '../../support/folders.ts';
import { loadOptions, runUntil } from '../../support/load-options.ts';
import { type Change, OPTIONS, resultOf } from '../support/load-result.ts';
import { readJsonResult } from '../support/load-runs.ts';
import { expectError, interruptedOn, runInProcess } from '../support/run-in-process.ts';

const folder = folderOfFile();

const file = (name: string, text: string) => written(folder, name, text);

const TASK = file(
  'task.mjs',
  `export default ({ sequence }) => { if (sequence === 1) throw new RangeError('odd'); };`,
);
const MAX = ['--rate', 'max', '-t', '2', '-d', '60ms', '--rounds', '3', '--warmup', '20ms'];

const VERSION: string = JSON.parse(readFileSync('package.json', 'utf8')).version;

const load = (...args: string[]) => runInProcess(['load', ...args]);

describe('zerotime load --rate max', () => {
  it('calls a module as fast as it can, in rounds', async () => {
    const [json, hgrm, report] = ['a.json', 'a.hgrm', 'a.html'].map((name) => join(folder, name));
    const files = ['--json', `${json}`, '--hgrm', `${hgrm}`, '--report', `${report}`];
    const { stdout, stderr, code } = await load(TASK, ...MAX, ...files);
    expect(stderr).toContain(`${TASK} at the maximum rate for 60 ms, by 2 threads; Ctrl-C ends it`);
    expect(stdout).toMatch(/Verdict +✔ [\d,.]+\/s, the median of 3 rounds\n/);
    expect(stdout).toMatch(/[\d,]+ calls in \d+ ms\n/);
    expect(stdout).toMatch(/\n +[\d.]+ [nµm]s per call and thread, /);
    expect(stdout).toMatch(/Rounds +1 .*\/s.*s\n +2 .*\n +3 .*\n/);
    expect(stdout).toMatch(/Calls +succeeded +[\d,]+ +100\.0 %\n +Errors +none\n/);
    expect(stdout).toMatch(/Threads +1 +[\d,]+ +[\d.]+ %.*\/s.*s\n +2 +[\d,]+ /);
    expect(stdout).toContain('after a warm-up of ');
    expect(stdout).not.toMatch(/request|respon|guarantee/i);
    expect(code).toBe(0);
    const result = JSON.parse(readFileSync(`${json}`, 'utf8'));
    expect(result).toMatchObject({
      zerotime: VERSION,
      exitCode: 0,
      loop: 'closed',
      url: `file://${TASK}`,
      options: {
        ratePerSecond: 'max',
        concurrency: 1,
        dataBytes: 0,
        threads: 2,
        rounds: 3,
        durationMs: 60,
        warmupMs: 20,
      },
      blocked: null,
      closed: { rounds: [{ threads: [{}, {}] }, {}, {}] },
    });
    expect(readFileSync(`${hgrm}`, 'utf8')).toMatch(/Value +Percentile/);
    const page = readFileSync(`${report}`, 'utf8');
    expect(page).toContain('Calls per second in each round');
    expect(page).toContain('"head":"round","labels":["1","2","3"]');
    expect(page).toContain('<h2>Threads</h2>');
  });

  it('gives the module JSON from the command line or from a file', async () => {
    const task = file(
      'data.mjs',
      `let got;
       export const setup = ({ data }) => { got = data; };
       export default () => { throw new Error(JSON.stringify(got)); };`,
    );
    const stored = file('data.json', '\ufeff[1, 2]');
    const given = async (data: string, ...more: string[]) => {
      const args = ['-t', '1', '-d', '50ms', '--data', data, ...more];
      const errorIn = (stdout: string) => /Error +[\d,]+ +100\.0 % +(.*)/.exec(stdout)?.[1];
      const { stdout, code } = await runUntil(
        (run) => errorIn(run.stdout) !== undefined,
        () => load(task, ...args),
      );
      expect(code).toBe(1);
      return errorIn(stdout);
    };
    expect(await given('{"a":1}', '--rate', 'max', '--warmup', '1ms')).toBe('{"a":1}');
    expect(await given(`@${stored}`, '--rate', '100')).toBe('[1,2]');
  });

  it('fails as its gates say, and with a thread that ends', async () => {
    const odd = file(
      'odd.mjs',
      `export default ({ sequence }) => { if (sequence % 2) throw new RangeError('odd'); };`,
    );
    const gated = await load(odd, ...MAX, '--max-errors', '10%');
    expect(gated.code).toBe(3);
    expect(gated.stdout).toMatch(/Verdict +✘ [\d.]+ % of the calls failed, wanted at most 10 %/);
    const ending = file('ending.mjs', 'export default () => process.exit(7);');
    const ended = await load(ending, ...MAX, '--warmup', '1ms');
    expect(ended.code).not.toBe(0);
    const broken = await load(file('none.mjs', 'export const a = 1;'), ...MAX);
    expect(broken.code).toBe(1);
    expect(broken.stderr).toContain('must export a function as default');
    const lost = await load(TASK, ...MAX, '--json', join(folder, 'no/such/folder.json'));
    expect(lost.code).toBe(1);
  });

  it('ends early with a summary when it is interrupted, and without one before its first round', async () => {
    const long = ['load', TASK, '--rate', 'max', '-t', '1', '-d', '10m'];
    const interruptOn = (text: string, ...more: string[]) =>
      interruptedOn(text, [...long, ...more]);
    const early = await interruptOn('/s now, ', '--warmup', '1ms');
    expect(early.code).toBe(0);
    expect(early.stdout).toMatch(/the median of 1 rounds?, ended early/);
    const tooEarly = await interruptOn('Ctrl-C ends it', '--warmup', '10m');
    expect(tooEarly.code).toBe(130);
    expect(tooEarly.stdout).toBe('');
  });

  it.each([
    [['http://localhost/', '--rate', 'max'], '--rate max needs a module'],
    [['--rate', 'max'], '--rate max needs a module'],
    [[TASK, '--rate', 'max', '--burst', '2'], '--burst needs a rate per second, got --rate max'],
    [[TASK, '--rate', 'max', '--arrivals', 'poisson'], '--arrivals needs a rate per second'],
    [[TASK, '--rate', 'max', '--min-rate', '1%'], '--min-rate needs a rate per second'],
    [[TASK, '--rate', 'max', '--redis', 'redis://a'], '--redis needs a rate per second'],
    [[TASK, '--rate', 'max', '--ramp', '1:2:3s'], "'--ramp"],
    [[TASK, '--rate', 'max', '--method', 'PUT'], '--method cannot be used with a module'],
    [[TASK, '--rate', 'max', '--insecure'], '--insecure needs an https URL'],
    [[TASK, '--rate', 'max', '--servername', 'a.example'], '--servername needs an https URL'],
    [[TASK, '--rate', 'most'], 'It must be requests per second'],
    [[TASK, '--rounds', '3'], '--rounds needs --rate max'],
    [[TASK, '--rate', 'max', '--rounds', '0'], 'a whole number from 1 to 1000'],
    [[TASK, '--data', '{'], 'It must be JSON, or @ and the path of a JSON file'],
    [[TASK, '--data', '@/no/such.json'], 'ENOENT'],
    [['http://localhost/', '--data', '1'], '--data needs a module; for requests, use --body'],
    [[TASK, '--redis', 'redis://localhost'], 'with a module, --redis needs --redis-key'],
    [['http://localhost/', '--concurrency', '3'], '--concurrency needs a module'],
    [[TASK, '--concurrency', '0'], 'a whole number from 1 to 1000000'],
    [['./none.mjs'], 'It must be the path of a module that exists.'],
    [['file://elsewhere/none.mjs'], 'It must be the path of a module that exists.'],
    [['./none'], 'It must be an absolute URL'],
  ])('%j is an error', (args, message) => expectError(['load', ...args], message));
});

/** The result of rounds: in each, the calls and microseconds of every thread. */
function roundsOf(
  rounds: readonly (readonly (readonly [calls: number, us: number] | undefined)[])[],
  crash?: string,
): DriveResult {
  const tally = new Tally(undefined, 'ns');
  const made: RoundOfAll[] = rounds.map((round) =>
    round.map((thread) => {
      if (thread === undefined) return undefined;
      const [sent, elapsedUs] = thread;
      tally.record('response', elapsedUs / sent, sent);
      return { counters: { sent, succeeded: sent, failed: 0 }, elapsedUs };
    }),
  );
  Object.assign(tally.counters, totalOf(made.flat().map((thread) => thread?.counters)));
  const threads = (rounds[0] ?? []).map((_, at) => {
    const counters = totalOf(made.map((round) => round[at]?.counters));
    return { admitted: counters.sent, counters, crash: at === 0 ? crash : undefined };
  });
  const task = { url: 'file:///task.mjs', data: undefined, concurrency: 1 };
  return driveResult({
    options: loadOptions({ task, rate: Number.POSITIVE_INFINITY, rounds: 2 }),
    url: task.url,
    startedAt: new Date(0),
    interrupted: crash !== undefined,
    warmUp: { sent: 0, succeeded: 0, failed: 0 },
    elapsedMs: rounds.reduce((sum, [thread]) => sum + (thread?.[1] ?? 0) / 1_000, 0),
    admitted: tally.counters.sent,
    tally,
    threads,
    closed: closedFigures(made, 0.5),
  });
}

const summary = (result: DriveResult) => renderSummary(result, PLAIN).join('\n');

describe('the summary of a run as fast as possible', () => {
  it('has the rate and the time of a call, by round and by thread', () => {
    const text = summary(
      roundsOf([
        [
          [1_000, 100_000],
          [2_000, 100_000],
        ],
        [
          [1_000, 200_000],
          [3_000, 200_000],
        ],
      ]),
    );
    expect(text).toContain('Rate        7,000 calls in 300 ms');
    expect(text).toContain('25,000/s in the median round, 20,000/s to 30,000/s');
    expect(text).toContain('83.3 µs per call and thread, 66.7 µs to 100 µs');
    expect(text).toMatch(/Rounds +1 +30,000\/s +66\.7 µs\n +2 +20,000\/s +100 µs\n/);
    expect(text).toMatch(/Threads +1 +2,000 +28\.6 % +6,667\/s +150 µs\n/);
    expect(text).toMatch(/ 2 +5,000 +71\.4 % +16,667\/s +60\.0 µs\n/);
  });

  it('says what is unknown', () => {
    const text = summary(roundsOf([[undefined, undefined]], 'out of luck'));
    expect(text).toContain('Verdict     ✘ no call succeeded');
    expect(text).toContain('✘ thread 1: out of luck');
    expect(text).toContain('Latency     unknown: there was no call');
    expect(text).toMatch(/Threads +1 +0 +0\.0 %\s*\n/);
    expect(text).toContain('thread 1 crashed, its results are incomplete: out of luck');
  });

  it('lists no more than 16 rounds and threads', () => {
    const round = Array.from({ length: 17 }, () => [10, 1_000] as const);
    const text = summary(roundsOf(Array.from({ length: 17 }, () => round)));
    expect(text).toMatch(/Rounds +17\n/);
    expect(text).toMatch(/Threads +17, each with 5\.9 % to 5\.9 % of the calls\n/);
  });
});

it.each([
  [0.4, '0.400 ns'],
  [81.34, '81.3 ns'],
  [999.4, '999 ns'],
  [999.6, '1.00 µs'],
  [25_040, '25.0 µs'],
  [999_400, '999 µs'],
  [999_600, '1.00 ms'],
  [2.5e9, '2.50 s'],
])('%d ns is shown as %s', (ns, text) => {
  expect(formatShortTime(ns)).toBe(text);
});

/** A result of calls. */
function callsOf(change: Change = {}): DriveResult {
  const task = { url: 'file:///task.mjs', data: undefined, concurrency: 5 };
  return resultOf({ ...change, options: { ...OPTIONS, task } });
}

it('zerotime load calls a module, and speaks of calls', async () => {
  const json = join(folder, 'result.json');
  const report = join(folder, 'report.html');
  const args = ['load', TASK, '--rate', '100', '-t', '1', '-d', '200ms', '--min-rate', '0%'];
  const files = ['--json', json, '--report', report];
  const { stdout, stderr, code } = await runInProcess([...args, '--max-errors', '100%', ...files]);
  expect(stderr).toContain(`${TASK} at 100/s`);
  expect(stdout).toMatch(/ calls in 200 ms/);
  expect(stdout).toMatch(/Calls +succeeded +\d/);
  expect(stdout).toMatch(/started → done/);
  expect(stdout).toMatch(/RangeError +1 .*odd/);
  expect(stdout).not.toMatch(/request|respon|connection/i);
  expect(code).toBe(0);
  const result = readJsonResult(json);
  expect(result).toMatchObject({
    url: expect.stringMatching(/^file:.*task\.mjs$/),
    calls: { sent: result.admitted, failed: 1 },
    threads: [{ calls: { failed: 1 } }],
    blocked: { calls: expect.any(Number) },
    options: { burst: 1, request: null, concurrency: 1_000 },
  });
  expect(result).not.toHaveProperty('requests');
});

it('takes paths and file: URLs for modules, and http URLs for servers', () => {
  expect(parseTarget(TASK)).toBe(`file://${TASK}`);
  expect(parseTarget(`file://${TASK}`)).toBe(`file://${TASK}`);
  expect(parseTarget('http://localhost/app.js')).toBe('http://localhost/app.js');
});

describe('the summary of calls', () => {
  it('names what calls blocked, and why they were not started', () => {
    const tally = new Tally();
    tally.countBlocked(2e6);
    const one = callsOf({ tally, sent: 1_000 });
    expect(summary(one)).toContain('Blocked     1 call blocked a thread, for up to 2.00 s');
    expect(summary(one)).toContain('1,000 calls were not started in time:');
    expect(summary(callsOf({ sent: 1_999 }))).toContain('1 call was not started in time:');
    expect(summary(one)).toContain('unknown: there was no call');
    expect(summary(one)).toMatch(/Calls +none/);
    expect(verdictLines(callsOf({ sent: 1_000 }))[0]?.text).toContain(
      'limited by the task or --concurrency',
    );
    tally.countBlocked(1e6);
    expect(summary(callsOf({ tally, sent: 1_000 }))).toContain('2 calls blocked');
  });

  it('says that its own limits are those of calls', () => {
    const busy = { queuedMs: 2, latencyMs: 3, connections: 10, threads: 1 };
    expect(limitText({ kind: 'connections', ...busy }, 'calls')).toMatch(
      /^all 10 calls of --concurrency were in flight in 1 thread, for 2.00 ms at p99/,
    );
    expect(limitText({ kind: 'samples', count: 7 }, 'calls')).toBe('7 calls are too few for p99');
  });
});
