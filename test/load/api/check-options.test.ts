import { describe, expect, it } from 'vitest';
import { checkDriveOptions } from '../../../src/load/api/check-options.ts';
import type { DriveOptions } from '../../../src/load/plan/drive-options.ts';

const task = new URL('file:///task.mjs');
const url = 'http://localhost:8080/a?b';

/** The options of a run at a rate. */
function open(options: DriveOptions) {
  return checkDriveOptions(options);
}

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

  it.each<[unknown, string]>([
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
      { task, rate: 1, ramp: { from: 1, to: 2, overMs: 1 } },
      'rate must be omitted with ramp, got 1',
    ],
    [
      { task, ramp: { from: 1, to: 2, over: 1 } },
      'ramp has no option "over"; did you mean overMs?',
    ],
    [{ task, ramp: { from: 1, to: Number.POSITIVE_INFINITY, overMs: 1 } }, 'ramp.to must be'],
    [{ task, rate: 1, burst: 0.5 }, 'burst must be an integer at least 1'],
    [
      { task, rate: 1, threads: 257 },
      'threads must be an integer at least 1 and at most 256, got 257',
    ],
    [{ task, rate: 1, concurrency: 0 }, 'concurrency must be an integer at least 1'],
    [{ task, rate: 1, durationMs: 0 }, 'durationMs must be a number at least 1'],
    [
      { task, rate: 1, timeoutMs: '1' },
      'timeoutMs must be a number at least 1 and at most 86400000, got "1"',
    ],
    [{ task, rate: 1, warmupMs: -1 }, 'warmupMs must be a number at least 0'],
    [{ task, rate: 1, rounds: 2 }, 'rounds needs rate Infinity'],
    [{ task, rate: 1, signal: {} }, 'signal must be an AbortSignal, got an object'],
    [{ task, rate: 1, onProgress: 1 }, 'onProgress must be a function, got 1'],
    [{ task, rate: 1, gates: {} }, 'gates must be an array, got an object'],
    [
      { task, rate: 1, gates: [undefined] },
      "gates[0].kind must be 'latency', 'errors' or 'rate', got undefined",
    ],
    [{ task, rate: 1, gates: [{ kind: 'p99' }] }, 'got "p99"'],
    [{ task, rate: 1, gates: [{ kind: 'errors', max: 1 }] }, 'gates[0] has no option "max"'],
    [
      { task, rate: 1, gates: [{ kind: 'latency', percentile: 0, maxMs: 1 }] },
      'gates[0].percentile must be a number greater than 0',
    ],
    [{ target: { url }, rate: 1, concurrency: 2 }, 'concurrency needs a task'],
    [{ target: { url }, rate: 1, data: 2 }, 'data needs a task'],
    [
      { target: { url: '/a' }, rate: 1 },
      'target.url must be an absolute http or https URL, got "/a"',
    ],
    [{ target: { url: 'ftp://a/' }, rate: 1 }, 'target.url must be an absolute http or https URL'],
    [
      { target: { url: 'http://me:secret@a/' }, rate: 1 },
      'target.url must not contain a user name',
    ],
    [
      { target: { url, method: 'CONNECT' }, rate: 1 },
      'target.method must be an HTTP method other than CONNECT, got "CONNECT"',
    ],
    [{ target: { url, method: 3 }, rate: 1 }, 'target.method must be'],
    [
      { target: { url, headers: { 'a b': 'c' } }, rate: 1 },
      'target.headers must be valid HTTP headers, got "a b"',
    ],
    [
      { target: { url, headers: { a: 3 } }, rate: 1 },
      'target.headers must be valid HTTP headers, got "a"',
    ],
    [
      { target: { url, headers: { 'Content-Length': '3' } }, rate: 1 },
      'target.headers must not contain content-length',
    ],
    [{ target: { url, body: 3 }, rate: 1 }, 'target.body must be a string or a Uint8Array, got 3'],
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
