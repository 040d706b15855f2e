import { describe, expect, it } from 'vitest';
import { drive } from '../../../src/load.ts';
import { codeUrl } from '../../support/code-url.ts';
import { kinds } from './error-kinds.ts';

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

  it('counts errors, timeouts and gates of an async task', async () => {
    const task = codeUrl(`
      export default async ({ sequence }) => {
        if (sequence === 7) throw new TypeError('seventh');
        if (sequence % 10 === 9) await new Promise(() => {});
        await new Promise(setImmediate);
      };
    `);
    const result = await drive({
      task,
      rate: Number.POSITIVE_INFINITY,
      concurrency: 3,
      durationMs: 300,
      warmupMs: 0,
      rounds: 2,
      timeoutMs: 50,
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
