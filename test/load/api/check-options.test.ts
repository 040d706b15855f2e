import { describe, expect, it } from 'vitest';
import { checkDriveOptions } from '../../../src/load/api/check-options.ts';
import type { DriveArrivals, DriveOptions } from '../../../src/load/plan/drive-options.ts';
import { drive } from '../../../src/load.ts';
import { NO_GATES, runUntil } from '../../support/load-options.ts';

const task = new URL('file:///task.mjs');
const url = 'http://localhost:8080/a?b';

const open = checkDriveOptions;

describe('the options of drive', () => {
  it('have defaults', () => {
    expect(open({ task, rate: 10 })).toMatchObject({
      task: { url: task.href, data: undefined, concurrency: 1_000 },
      rate: 10,
      ramp: undefined,
      burst: 1,
      threads: 1,
      durationMs: 10_000,
      timeoutMs: 5_000,
      warmupMs: 0,
      gates: [],
    });
    expect(checkDriveOptions({ task: task.href, rate: Number.POSITIVE_INFINITY })).toMatchObject({
      task: { concurrency: 1 },
      threads: 1,
      warmupMs: 500,
      rounds: 5,
    });
  });

  it('describe requests', () => {
    const target = { url: new URL(url), headers: { 'X-A': '1' }, body: 'text', connections: 5 };
    const request = { url, headers: [['X-A', '1']], connections: 5 };
    expect(open({ target, rate: 10 })).toMatchObject({
      ...request,
      method: 'POST',
      task: undefined,
    });
    const bytes = Uint8Array.of(1);
    const put = open({ target: { url, method: 'put', body: bytes }, rate: 10, threads: 100 });
    expect([put.method, put.body, put.connections]).toEqual(['PUT', bytes, 100]);
    expect(open({ target: { url }, rate: 10 })).toMatchObject({ method: 'GET', connections: 64 });
  });

  it('may have a ramp in place of a rate, and gates', () => {
    const ramp = { from: 1, to: 5, overMs: 100 };
    const gates = [
      { kind: 'latency', percentile: 99, maxMs: 20 },
      { kind: 'errors', maxShare: 0 },
      { kind: 'rate', minShare: 0.9 },
    ] as const;
    expect(open({ task, ramp, gates })).toMatchObject({ rate: 5, ramp, gates });
  });

  /** Of a run of a task, and of a target. */
  const ofTask: [object, string][] = [
    [{ ramp: { from: 1, to: 2, overMs: 1 } }, 'rate must be omitted with ramp, got 1'],
    [
      { ramp: { from: 1, to: 2, overMs: 1 }, rate: Symbol('fast') },
      'rate must be omitted with ramp, got Symbol(fast)',
    ],
    [{ burst: 0.5 }, 'burst must be an integer at least 1'],
    [{ threads: 257 }, 'threads must be an integer at least 1 and at most 256, got 257'],
    [{ concurrency: 0 }, 'concurrency must be an integer at least 1'],
    [{ durationMs: 0 }, 'durationMs must be a number at least 1'],
    [{ timeoutMs: '1' }, 'timeoutMs must be a number at least 1 and at most 86400000, got "1"'],
    [{ warmupMs: -1 }, 'warmupMs must be a number at least 0'],
    [{ rounds: 2 }, 'rounds needs rate Infinity'],
    [{ signal: {} }, 'signal must be an AbortSignal, got an object'],
    [{ onProgress: 1 }, 'onProgress must be a function, got 1'],
    [{ gates: {} }, 'gates must be an array, got an object'],
    [{ gates: [undefined] }, "gates[0].kind must be 'latency', 'errors' or 'rate', got undefined"],
    [{ gates: [{ kind: 'p99' }] }, 'got "p99"'],
    [{ gates: [{ kind: 'errors', max: 1 }] }, 'gates[0] has no option "max"'],
    [
      { gates: [{ kind: 'latency', percentile: 0, maxMs: 1 }] },
      'gates[0].percentile must be a number greater than 0',
    ],
  ];
  const ofTarget: [object, string][] = [
    [{ url: '/a' }, 'target.url must be an absolute http or https URL, got "/a"'],
    [{ url: 'ftp://a/' }, 'target.url must be an absolute http or https URL'],
    [{ url: 'http://me:secret@a/' }, 'target.url must not contain a user name'],
    [
      { method: 'CONNECT' },
      'target.method must be an HTTP method other than CONNECT, got "CONNECT"',
    ],
    [{ method: 3 }, 'target.method must be'],
    [{ headers: { 'a b': 'c' } }, 'target.headers must be valid HTTP headers, got "a b"'],
    [{ headers: new Headers({ a: 'b' }) }, 'target.headers must be an object with a property for'],
    [
      { headers: new Map([['a', 'b']]) },
      'target.headers must be an object with a property for each',
    ],
    [{ headers: { a: 3 } }, 'target.headers must be valid HTTP headers, got "a"'],
    // Only what is undefined counts as omitted.
    [{ headers: null }, 'target.headers must be an object, got null'],
    [{ method: null }, 'target.method must be an HTTP method other than CONNECT, got null'],
    [{ connections: null }, 'target.connections must be an integer at least 1'],
    [{ headers: { 'Content-Length': '3' } }, 'target.headers must not contain content-length'],
    [{ body: 3 }, 'target.body must be a string or a Uint8Array, got 3'],
  ];
  it.each<[unknown, string]>([
    ...ofTask.map(([one, message]): [object, string] => [{ task, rate: 1, ...one }, message]),
    ...ofTarget.map(([one, message]): [object, string] => [
      { target: { url, ...one }, rate: 1 },
      message,
    ]),
    [undefined, 'options must be an object, got undefined'],
    [{ rate: 1 }, 'options must have task or target, got neither'],
    [{ task, target: { url }, rate: 1 }, 'options must have task or target, got both'],
    [{ task, rate: 1, duration: 5 }, 'options has no option "duration"'],
    [
      { task: './task.mjs', rate: 1 },
      'task must be the file: or data: URL of a module, such as new URL',
    ],
    [{ task: 'http://a/task.mjs', rate: 1 }, 'got "http://a/task.mjs"'],
    [{ task: () => 1, rate: 1 }, 'got a function'],
    [
      { task },
      'rate must be a number at least 0.001 and at most 1000000, or Infinity, got undefined',
    ],
    [
      { task, rate: 2e6 },
      'rate must be a number at least 0.001 and at most 1000000, or Infinity, got 2000000',
    ],
    [
      { task, ramp: { from: 1, to: 2, over: 1 } },
      'ramp has no option "over"; did you mean overMs?',
    ],
    [{ task, ramp: { from: 1, to: 2, overMs: 1 }, burst: 2 }, 'burst must be omitted with ramp'],
    [{ task, ramp: { from: 1, to: Number.POSITIVE_INFINITY, overMs: 1 } }, 'ramp.to must be'],
    [{ target: { url }, rate: 1, concurrency: 2 }, 'concurrency needs a task'],
    [{ target: { url }, rate: 1, data: 2 }, 'data needs a task'],
    [{ target: { url }, rate: 1, data: 0 }, 'data needs a task'],
    [
      { target: { url, connections: 1 }, rate: 1, threads: 2 },
      'target.connections must be at least 2, one for each thread, got 1',
    ],
    [{ target: { uri: url }, rate: 1 }, 'target has no option "uri"; did you mean url?'],
    [
      { target: { url }, rate: Number.POSITIVE_INFINITY },
      'target needs a finite rate, got Infinity',
    ],
    [{ task, rate: Number.POSITIVE_INFINITY, burst: 2 }, 'burst needs a finite rate, got Infinity'],
    [{ task, rate: Number.POSITIVE_INFINITY, rounds: 0 }, 'rounds must be an integer at least 1'],
    [
      { task, rate: Number.POSITIVE_INFINITY, gates: [{ kind: 'rate', minShare: 1 }] },
      'gates[0]: needs a finite rate, got Infinity',
    ],
  ])('%o: %s', (options, message) => {
    const check = () => checkDriveOptions(options as DriveOptions); // wrong on purpose
    expect(check).toThrow(message);
    expect(check).not.toThrow(/secret/);
  });
});

const EMPTY = 'data:text/javascript,export default () => {}';

/** The terms of a run that follow from its arrivals. */
function terms(arrivals: DriveArrivals | undefined, options: DriveOptions = { rate: 10 }) {
  const plan = checkDriveOptions({ task: EMPTY, ...options, ...(arrivals && { arrivals }) });
  const { rate, durationMs, arrivals: checked } = plan;
  return { rate, durationMs, arrivals: checked };
}

describe('the arrivals of drive', () => {
  it('are even unless given', () => {
    const even = { rate: 10, durationMs: 10_000, arrivals: undefined };
    expect(terms(undefined)).toEqual(even);
    expect(terms({ kind: 'even' })).toEqual(even);
  });

  it('are at random with the seed given, or one of their own', () => {
    expect(terms({ kind: 'poisson', seed: 7 })).toEqual({
      rate: 10,
      durationMs: 10_000,
      arrivals: { kind: 'poisson', seed: 7 },
    });
    const seeds = new Set<unknown>();
    // A few equal draws of 2^32 would not matter; equal for ever they would.
    for (let tries = 0; seeds.size < 2 && tries < 1_000; tries++) {
      const { arrivals } = terms({ kind: 'poisson' });
      seeds.add(arrivals?.kind === 'poisson' ? arrivals.seed : undefined);
    }
    expect(seeds.size).toBe(2);
    expect([...seeds].every((seed) => Number.isInteger(seed))).toBe(true);
    const ramp = { from: 1, to: 5, overMs: 100 };
    expect(terms({ kind: 'poisson', seed: 1 }, { ramp })).toMatchObject({ rate: 5 });
  });

  it('are those of a list, which says the rate and, unless given, the length', () => {
    const instantsMs = [0, 250.5, 250.5, 999.25];
    expect(terms({ kind: 'listed', instantsMs }, {})).toEqual({
      rate: 4,
      durationMs: 1_000,
      arrivals: {
        kind: 'listed',
        instantsUs: Float64Array.of(0, 250_500, 250_500, 999_250),
      },
    });
    const list = Float64Array.from(instantsMs);
    expect(terms({ kind: 'listed', instantsMs }, { warmupMs: 0 }).arrivals).toMatchObject({
      kind: 'listed',
    });
    const longer = terms({ kind: 'listed', instantsMs: list }, { durationMs: 2_000 });
    expect(longer).toMatchObject({ rate: 2, durationMs: 2_000 });
    const shorter = terms({ kind: 'listed', instantsMs: list }, { durationMs: 500 });
    expect(shorter).toMatchObject({
      rate: 6,
      durationMs: 500,
      arrivals: { instantsUs: Float64Array.of(0, 250_500, 250_500) },
    });
  });

  it.each<[unknown, string]>([
    [{ rate: 1, arrivals: 'poisson' }, "arrivals.kind must be 'even', 'poisson' or 'listed', got"],
    [{ rate: 1, arrivals: null }, "arrivals.kind must be 'even', 'poisson' or 'listed', got und"],
    [{ rate: 1, arrivals: { kind: 'random' } }, 'got "random"'],
    [{ rate: 1, arrivals: { kind: 'even', seed: 1 } }, 'arrivals has no option "seed"'],
    [{ rate: 1, arrivals: { kind: 'poisson', seeds: 1 } }, 'did you mean seed?'],
    [{ rate: 1, arrivals: { kind: 'poisson', seed: 0.5 } }, 'arrivals.seed must be an integer'],
    [{ rate: 1, arrivals: { kind: 'poisson', seed: 2 ** 32 } }, 'at most 4294967295'],
    [
      { rate: 1, burst: 2, arrivals: { kind: 'poisson' } },
      "burst cannot be used with arrivals.kind 'poisson': instants are fixed",
    ],
    [{ arrivals: { kind: 'poisson' } }, 'rate must be a number at least 0.001'],
    [
      { rate: 1, arrivals: { kind: 'listed', instantsMs: [1] } },
      "rate cannot be used with arrivals.kind 'listed': instants are fixed",
    ],
    [{ warmupMs: 1, arrivals: { kind: 'listed', instantsMs: [1] } }, 'warmupMs cannot be used'],
    [{ arrivals: { kind: 'listed' } }, 'arrivals.instantsMs must be an array of numbers or a Fl'],
    [{ arrivals: { kind: 'listed', instantMs: [1] } }, 'did you mean instantsMs?'],
    [
      { arrivals: { kind: 'listed', instantsMs: [2, 1] } },
      'arrivals.instantsMs[1] must be a number at least 2 and at most 86400000, got 1',
    ],
    [{ arrivals: { kind: 'listed', instantsMs: [-1] } }, 'arrivals.instantsMs[0] must be'],
    [{ arrivals: { kind: 'listed', instantsMs: ['1'] } }, 'arrivals.instantsMs[0] must be'],
    [
      { arrivals: { kind: 'listed', instantsMs: [] } },
      'arrivals.instantsMs must have an instant before the end of the run',
    ],
    [
      { durationMs: 5, arrivals: { kind: 'listed', instantsMs: [5] } },
      'arrivals.instantsMs must have an instant before the end of the run',
    ],
    [{ durationMs: 0, arrivals: { kind: 'listed', instantsMs: [5] } }, 'durationMs must be'],
    [
      { rate: Number.POSITIVE_INFINITY, arrivals: { kind: 'even' } },
      'arrivals needs a finite rate, got Infinity',
    ],
  ])('%o: %s', (options, message) => {
    const given = { task: EMPTY, ...(options as DriveOptions) }; // wrong on purpose
    expect(() => checkDriveOptions(given)).toThrow(message);
  });
});

const gates = NO_GATES;

describe.concurrent('drive', () => {
  it('makes each call of a list at its own instant', async () => {
    const instantsMs = [0, 0, 30, 200];
    const arrivals = { kind: 'listed', instantsMs } as const;
    const result = await runUntil(
      ({ admitted }) => admitted === 4,
      () => drive({ task: EMPTY, gates, threads: 2, arrivals }),
    );
    expect(result.arrivals).toEqual({ kind: 'listed', count: 4 });
    expect(result.guarantee).toMatchObject({ held: true });
    expect(result.admittedPer100Ms.slice(0, 3)).toEqual([3, 0, 1]);
    expect(result.calls).toEqual({ sent: 4, succeeded: 4, failed: 0 });
  });

  it('says which seed repeats its arrivals', async () => {
    const options = { task: EMPTY, gates, rate: 100, durationMs: 200 };
    const [random, seeded] = await Promise.all([
      drive({ ...options, arrivals: { kind: 'poisson' } }),
      drive({ ...options, arrivals: { kind: 'poisson', seed: 3 } }),
    ]);
    expect(random.arrivals).toEqual({ kind: 'poisson', seed: expect.any(Number) });
    expect(seeded.arrivals).toEqual({ kind: 'poisson', seed: 3 });
    expect(seeded.guarantee?.held).toBe(true);
    expect(random.admitted).toBeLessThanOrEqual(20);
  });
});
