import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { type DriveOptions, drive } from '../../../src/load.ts';
import { started } from '../../cli/support/servers.ts';
import { codeUrl } from '../../support/code-url.ts';
import { kinds } from '../../support/load-options.ts';

describe.concurrent('drive with rate Infinity', () => {
  it('calls as fast as it can in rounds, on all threads', async () => {
    const task = codeUrl('export default ({ sequence }) => sequence');
    const result = await drive({
      task,
      rate: Number.POSITIVE_INFINITY,
      threads: 2,
      durationMs: 60,
      warmupMs: 20,
      rounds: 3,
    });
    const { closed, calls } = result;
    expect(closed?.rounds).toHaveLength(3);
    expect(
      closed?.rounds.every(({ threads }) => threads.every((one) => (one?.calls ?? 0) > 0)),
    ).toBe(true);
    const all =
      closed?.rounds.flatMap(({ threads }) => threads.map((one) => one?.calls ?? 0)) ?? [];
    expect(all.reduce((sum, count) => sum + count, 0)).toBe(calls.sent);
    expect(result.threads.map(({ admitted }) => admitted > 0)).toEqual([true, true]);
    const { least, median, most } = closed?.callsPerSecond ?? { least: 0, median: 0, most: 0 };
    expect([least > 0, median >= least, most >= median]).toEqual([true, true, true]);
    expect(result).toMatchObject({ guarantee: null, fitness: null, wantedRatePerSecond: null });
    expect(result.verdict.ok).toBe(true);
  });

  it('ends the warm-up on time if one call takes longer', async () => {
    const task = codeUrl('export default () => new Promise((resolve) => setTimeout(resolve, 50))');
    const options = { task, rate: Number.POSITIVE_INFINITY, threads: 1, rounds: 1 };
    const result = await drive({ ...options, durationMs: 1, warmupMs: 20 });
    expect([result.warmUp.sent, result.calls.sent]).toEqual([1, 1]);
  });

  it('counts errors, timeouts and gates of an async task', async () => {
    const task = codeUrl(`
      export default async ({ sequence }) => {
        if (sequence === 7) throw new TypeError('seventh');
        if (sequence % 10 === 9) await new Promise(() => {});
        await new Promise(setImmediate);
      };
    `);
    const end = new AbortController();
    const result = await drive({
      task,
      rate: Number.POSITIVE_INFINITY,
      concurrency: 3,
      durationMs: 60_000,
      warmupMs: 0,
      rounds: 1,
      // No stall of the machine is taken for a call that hangs.
      timeoutMs: 1_000,
      signal: end.signal,
      // The one that throws and three that hang, however long they take.
      onProgress: ({ failed }) => failed > 3 && end.abort(),
      gates: [
        { kind: 'latency', percentile: 100, maxMs: 1 },
        { kind: 'errors', maxShare: 0 },
      ],
    });
    expect(kinds(result)['TypeError']).toBe(1);
    expect(kinds(result)['timed out']).toBeGreaterThan(2);
    const { sent, succeeded, failed } = result.calls;
    expect(succeeded + failed).toBe(sent);
    expect(result.gates.map(({ passed }) => passed)).toEqual([false, false]);
    expect(result.verdict.reasons[0]).toMatch(/^p100 was [\d.]+ ms, wanted at most 1 ms$/);
  });

  it.each(['', 'async '])('reports the one %scall among thousands that blocks', async (kind) => {
    const task = codeUrl(`
      const word = new Int32Array(new SharedArrayBuffer(4));
      export default ${kind}({ sequence }) => {
        if (sequence === 20_000) Atomics.wait(word, 0, 0, 400);
      };
    `);
    const options = { task, durationMs: 60_000, warmupMs: 0, rounds: 1, timeoutMs: 300 };
    const end = new AbortController();
    const result = await drive({
      ...options,
      rate: Number.POSITIVE_INFINITY,
      signal: end.signal,
      onProgress: ({ calls }) => calls > 20_000 && end.abort(),
    });
    expect(result.times.response.ms?.max).toBeGreaterThanOrEqual(399);
    expect(kinds(result)['timed out']).toBeGreaterThan(0);
    expect(result.times.response.count).toBe(result.calls.sent);
  });

  it('ends, with all counts, when a task exits its thread', async () => {
    const task = codeUrl(
      'export default ({ sequence }) => { if (sequence === 99) process.exit(9); }',
    );
    const options = { task, rate: Number.POSITIVE_INFINITY, durationMs: 60_000, warmupMs: 0 };
    const result = await drive({ ...options, threads: 1, rounds: 1 });
    expect(result.calls).toEqual({ sent: 100, succeeded: 99, failed: 1 });
    expect(kinds(result)).toEqual({ 'thread ended': 1 });
    expect(result.verdict.reasons).toEqual(['thread 0: exited with code 9']);
    expect(result.interrupted).toBe(true);
  });
});

describe.concurrent('an abort of drive', () => {
  const HOUR_MS = 3_600_000;
  const hung = codeUrl('export default () => new Promise(() => {})');

  const abortedWhile = async (options: DriveOptions) => {
    const controller = new AbortController();
    const { signal } = controller;
    const onProgress = ({ waiting }: { waiting: number }) => waiting >= 3 && controller.abort();
    const limits = { threads: 1, durationMs: HOUR_MS, timeoutMs: HOUR_MS };
    return drive({ ...options, ...limits, signal, onProgress });
  };

  it.each([100, Number.POSITIVE_INFINITY])(
    'does not wait for hung calls, at %s/s',
    async (rate) => {
      const options = { task: hung, rate, warmupMs: 0, concurrency: 3 };
      const { interrupted, calls, errors, times } = await abortedWhile(options);
      expect(interrupted).toBe(true);
      expect(calls).toMatchObject({ sent: 3, succeeded: 0 });
      expect(errors).toContainEqual({ kind: 'interrupted', count: 3, example: expect.any(String) });
      expect(times.response.count).toBe(3);
    },
  );

  it('aborts the signals of hung calls', async () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    const task = codeUrl(`
      let cell;
      export const setup = ({ data }) => { cell = data; };
      export default ({ signal }) => new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          Atomics.add(cell, 0, signal.reason.name === 'AbortError' ? 1 : 100);
          reject(signal.reason);
        });
      });
    `);
    for (const [at, rate] of [100, Number.POSITIVE_INFINITY].entries()) {
      const options = { task, rate, warmupMs: 0, concurrency: 3, data: cell };
      const { calls, errors } = await abortedWhile(options);
      expect(calls).toMatchObject({ sent: 3, failed: errors.reduce((n, e) => n + e.count, 0) });
      expect(cell[0]).toBe(3 * (at + 1));
    }
  });

  it.each([false, true])(
    'does not wait for a server that never answers, HTTP/2: %s',
    async (http2) => {
      const server = http2 ? createHttp2Server(() => undefined) : createServer(() => undefined);
      const { url, kill } = await started(server);
      const target = { url, connections: 2, http2 };
      const { calls, errors } = await abortedWhile({ target, rate: 100 });
      expect(calls.succeeded).toBe(0);
      const count = errors.find(({ kind }) => kind === 'interrupted')?.count;
      expect(count).toBe(http2 ? calls.sent : 2);
      await kill();
    },
  );
});
