import { readFileSync } from 'node:fs';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { describe, expect, it } from 'vitest';
import { type DriveOptions, type DriveResult, drive, percentileMs } from '../../../src/load.ts';
import { httpServer } from '../../cli/support/servers.ts';
import { codeUrl } from '../../support/code-url.ts';
import { kinds, NO_GATES, runUntil } from '../../support/load-options.ts';

const gates = NO_GATES;

const driveUntil = (isEnough: (result: DriveResult) => boolean, options: DriveOptions) =>
  runUntil(isEnough, () => drive(options));

const warmedUp = (options: DriveOptions) => driveUntil(({ warmUp }) => warmUp.sent > 0, options);

describe.concurrent('drive', () => {
  it('calls a module at the rate, with setup, data, numbers over all threads, and teardown', async () => {
    const seen = new BigInt64Array(new SharedArrayBuffer(8 * 64));
    const task = codeUrl(`
      let seen;
      export async function setup({ thread, threads, data, signal }) {
        if (signal.aborted || threads !== 2) throw new Error('wrong');
        seen = data;
        Atomics.add(seen, 60 + thread, 1n);
        signal.addEventListener('abort', () => Atomics.add(seen, 62, 1n));
      }
      export default ({ sequence }) => void Atomics.add(seen, Math.min(sequence, 59), 1n);
      export const teardown = async () => void Atomics.add(seen, 63, 1n);
    `);
    const heard: number[] = [];
    const result = await drive({
      task,
      data: seen,
      threads: 2,
      rate: 100,
      durationMs: 400,
      gates,
      onProgress: ({ calls }) => heard.push(calls),
    });
    const { sent } = result.calls;
    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThanOrEqual(40);
    // Each number once, from 0, and none left out.
    expect([...seen.subarray(0, 60)]).toEqual(
      Array.from({ length: 60 }, (_, n) => BigInt(+(n < sent))),
    );
    expect([...seen.subarray(60)]).toEqual([1n, 1n, 2n, 2n]);
    expect(result.calls).toEqual({ sent, succeeded: sent, failed: 0 });
    expect(result.verdict).toEqual({ ok: true, reasons: [] });
    expect(result).toMatchObject({ loop: 'open', url: task, interrupted: false, closed: null });
    expect(result.guarantee).toMatchObject({ held: true });
    expect(heard.at(-1)).toBe(result.admitted);
  });

  it('returns plain data, with histograms that can be read', async () => {
    const task = codeUrl('export default () => {}');
    const options = { task, gates, warmupMs: 100 };
    const runs = await Promise.all([
      warmedUp({ ...options, rate: 100, durationMs: 200 }),
      warmedUp({ task, warmupMs: 50, rate: Number.POSITIVE_INFINITY, durationMs: 20, rounds: 2 }),
    ]);
    for (const result of runs) {
      expect(JSON.parse(JSON.stringify(result))).toStrictEqual(result);
      expect(result.warmUp.sent).toBeGreaterThan(0);
      for (const times of Object.values(result.times)) {
        const { totalCount } = decodeFromCompressedBase64(times.hdrHistogram);
        expect(totalCount).toBe(times.count);
        expect(percentileMs(times, 99)).toBe(times.ms?.p99);
      }
      expect(result.times.response.count).toBe(result.calls.sent);
    }
    expect(() => percentileMs(runs[0].times.latency, 0)).toThrow(/^percentile must be a number/);
  });

  it('says when the run started, after its warm-up', async () => {
    const beforeMs = Date.now();
    const lengths = { warmupMs: 300, durationMs: 200 };
    const { startedAt } = await drive({
      task: codeUrl('export default () => {}'),
      ...{ rate: 100, ...lengths, gates },
    });
    const startedMs = Date.parse(startedAt);
    // The two clocks may differ by a millisecond or two.
    expect(startedMs - beforeMs).toBeGreaterThan(lengths.warmupMs - 10);
    expect(Date.now() - startedMs).toBeGreaterThan(lengths.durationMs - 10);
  });

  it('sends requests to a target', async () => {
    const seen = new Set<string>();
    const server = await httpServer((request, response) => {
      seen.add(`${request.method} ${request.headers['x-a']}`);
      response.end();
    });
    const target = { url: server.url, headers: { 'X-A': 'b' }, connections: 2 };
    const result = await drive({ target, rate: 100, durationMs: 200, gates });
    await server.kill();
    expect([...seen]).toEqual(['GET b']);
    expect(result.statusCodes).toEqual({ 200: result.calls.sent });
    expect(result.verdict.ok).toBe(true);
  });

  it.each([
    ['up', { from: 1, to: 2_000, overMs: 400 }, 401],
    ['down', { from: 2_000, to: 1, overMs: 400 }, 401],
    ['up at once', { from: 1, to: 1_000, overMs: 200 }, 101],
  ])('sends the integral of a ramp %s', async (_which, ramp, count) => {
    const seen = new Int32Array(new SharedArrayBuffer(4));
    const task = codeUrl(`
      let seen;
      export const setup = ({ data }) => { seen = data; };
      export default () => void Atomics.add(seen, 0, 1);
    `);
    const { overMs: durationMs } = ramp;
    const result = await drive({ task, data: seen, ramp, threads: 2, durationMs, gates });
    expect(result.calls.sent).toBe(Atomics.load(seen, 0));
    // A slot is lost only if no thread takes it for a second.
    if ((result.times.clientLag.ms?.max ?? 0) < 900) expect(result.calls.sent).toBe(count);
    expect(result.calls.sent).toBeLessThanOrEqual(count);
    // The rate wanted is that of the ramp, whatever was sent.
    const wanted = ((ramp.from + ramp.to) / 2) * (durationMs / 1_000);
    expect((result.wantedRatePerSecond ?? 0) * (result.elapsedMs / 1_000)).toBeCloseTo(wanted, 2);
    expect(result.guarantee).toMatchObject({ held: true });
    expect(result.guarantee?.tightest).not.toBeNull();
  });

  it('names connections or calls in flight as the limit only if all were in use', async () => {
    const names = ({ fitness }: DriveResult) => fitness?.limits.map(({ kind }) => kind) ?? [];
    const idle = await drive({
      task: codeUrl('export default () => {}'),
      rate: 2_000,
      threads: 2,
      durationMs: 200,
      gates,
    });
    expect(names(idle)).not.toContain('connections');
    // Four calls at a time for 20 ms each are 200 a second, of 300 that come due.
    const slow = codeUrl('export default () => new Promise((end) => setTimeout(end, 20))');
    const full = await driveUntil((result) => names(result).includes('connections'), {
      task: slow,
      rate: 300,
      concurrency: 4,
      durationMs: 400,
      gates,
    });
    expect(full.fitness?.limits).toContainEqual(
      expect.objectContaining({ kind: 'connections', connections: 4, threads: 1 }),
    );
  });

  it('is not ok if a quarter of the calls were never made', async () => {
    // From the fourth on each hangs, and only two may be in flight.
    const task = codeUrl(`
      export default ({ sequence }) => (sequence < 3 ? undefined : new Promise(() => {}));
    `);
    const most = [{ kind: 'errors', maxShare: 1 }] as const;
    const options = { task, rate: 100, durationMs: 100, timeoutMs: 1_000, concurrency: 2 };
    const { calls, verdict, gates: judged } = await drive({ ...options, gates: most });
    expect(calls.sent).toBeLessThanOrEqual(5);
    expect(judged).toContainEqual({
      gate: { kind: 'rate', minShare: 0.999 },
      passed: false,
      actual: calls.sent / 10,
    });
    expect(verdict.ok).toBe(false);
    expect(verdict.reasons.at(-1)).toMatch(/ of the rate was sent, wanted at least 99.9 %$/);
  });

  it('has the times of failed requests, like those of failed calls', async () => {
    const server = await httpServer((request) => request.socket.destroy());
    const target = { url: server.url, connections: 2 };
    const result = await drive({ target, rate: 100, durationMs: 200, gates });
    await server.kill();
    const { latency, response } = result.times;
    expect(result.calls.succeeded).toBe(0);
    expect([latency.count, response.count]).toEqual([result.admitted, result.calls.sent]);
    // Failures may be fast, but they pass for no answer.
    const passes = [{ kind: 'latency', percentile: 99, maxMs: 60_000 }, ...gates] as const;
    const failed = await drive({ target, rate: 100, durationMs: 50, gates: passes });
    expect(failed.gates[0]).toMatchObject({ passed: false, actual: null });
  });

  it('says which zerotime, which machine, and how the latency went', async () => {
    const task = codeUrl('export default () => {}');
    const options = { task, rate: 1_000, durationMs: 500, gates };
    const { zerotime, machine, latencyByTime, admitted } = await drive(options);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(zerotime).toBe(version);
    expect(machine.processors).toBeGreaterThan(0);
    expect(latencyByTime.reduce((sum, { count }) => sum + count, 0)).toBe(admitted);
    expect(latencyByTime[0]).toMatchObject({ p50Ms: expect.any(Number) });
  });

  it('counts what goes wrong by kind, and says what did', async () => {
    const task = codeUrl(`
      export default ({ sequence }) => {
        if (sequence % 4 === 0) throw new RangeError('thrown');
        if (sequence % 4 === 1) return Promise.reject(Object.assign(new Error('x'), { code: 'EX' }));
        if (sequence === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
        if (sequence % 4 === 3) return new Promise(() => {});
      };
      export const teardown = () => { throw new Error('no end'); };
    `);
    const maxErrors = [{ kind: 'errors', maxShare: 0.5 }, ...gates.slice(1)] as const;
    const result = await driveUntil(({ calls }) => calls.sent >= 4, {
      task,
      rate: 100,
      durationMs: 400,
      timeoutMs: 1_500,
      gates: maxErrors,
    });
    const { sent, succeeded, failed } = result.calls;
    // A thread that is held up for seconds does not begin all calls.
    const { unsent = 0, ...errors } = kinds(result);
    expect(sent).toBe(succeeded + failed - unsent);
    expect(errors).toEqual({
      RangeError: Math.ceil(sent / 4),
      'Error EX': Math.ceil((sent - 1) / 4),
      'timed out': Math.ceil((sent - 3) / 4),
    });
    expect(result.blocked?.calls).toBeGreaterThan(0);
    expect(result.blocked?.longestMs).toBeGreaterThan(145);
    expect(result.verdict.reasons).toEqual([
      'thread 0: teardown failed: Error: no end',
      `${Number(((100 * failed) / (succeeded + failed)).toFixed(3))} % of the calls failed, wanted at most 50 %`,
    ]);
    expect(failed / (succeeded + failed)).toBeGreaterThan(0.7);
    expect(result.threads[0]?.crash).toContain('no end');
  });

  it('ends, with all counts, when a task exits its thread', async () => {
    const task = codeUrl(`
      export default ({ sequence }) => {
        if (sequence === 4) process.exit(9);
        if (sequence === 3) return new Promise(() => {});
      }`);
    const options = { task, durationMs: 60_000, timeoutMs: 5_000, gates };
    const result = await drive({ ...options, rate: 100 });
    expect(result.interrupted).toBe(true);
    expect(result.calls).toEqual({ sent: 5, succeeded: 3, failed: 2 });
    expect(kinds(result)).toEqual({ 'thread ended': 2 });
    expect(result.verdict.reasons).toEqual(['thread 0: exited with code 9']);
  });

  it('reports a thread that an uncaught error ends', async () => {
    const task = codeUrl(`
      export default ({ sequence }) => {
        if (sequence === 4) setImmediate(() => { throw new TypeError('stray'); });
      }`);
    const options = { task, durationMs: 60_000, warmupMs: 0 };
    const runs = await Promise.all([
      drive({ ...options, rate: 100, gates }),
      drive({ ...options, rate: Number.POSITIVE_INFINITY, rounds: 1_000 }),
    ]);
    for (const { interrupted, verdict } of runs) {
      expect(interrupted).toBe(true);
      expect(verdict.reasons).toEqual(['thread 0: TypeError: stray']);
    }
  });

  it('rejects before it calls anything if the module is none', async () => {
    const run = (code: string, data?: unknown) =>
      drive({ task: codeUrl(code), rate: 100, durationMs: 100, data });
    const rejects = async (start: Promise<unknown>, message: RegExp) =>
      expect(start).rejects.toThrow(message);
    const call = 'export default () => {};';
    const nowhere = { task: 'file:///no/such/task.mjs', rate: 1, durationMs: 100 };
    await Promise.all([
      rejects(run('export default 3'), /^task data:.* must export a function as default, got 3$/),
      rejects(run('export const a = 1'), /as default, got undefined$/),
      rejects(run(`${call} export const setup = 1`), /: setup must be a function, got 1$/),
      rejects(run('nonsense here'), /cannot be loaded: SyntaxError: /),
    ]);
    await Promise.all([
      rejects(drive(nowhere), /^task file:\S+ cannot be loaded: Error ERR_MODULE_NOT_FOUND/),
      rejects(
        run(`${call} export const setup = async () => { throw new Error('no') }`),
        /: setup failed: Error: no$/,
      ),
      rejects(
        run(`${call} export const setup = () => process.exit(4)`),
        /^a load thread cannot start: exited with code 4$/,
      ),
      rejects(
        run(call, () => 1),
        /^data must be cloneable/,
      ),
    ]);
  });

  it('ends early when its signal is aborted, or when onProgress throws', async () => {
    const task = codeUrl('export default () => {}');
    const endsEarly = async (rate: number) => {
      const options = { task, rate, durationMs: 60_000, ...(rate === 100 ? { gates } : {}) };
      const controller = new AbortController();
      const onProgress = ({ calls }: { calls: number }) => calls > 0 && controller.abort();
      const result = await drive({ ...options, signal: controller.signal, onProgress });
      expect(result.interrupted).toBe(true);
      expect(result.calls.sent).toBeGreaterThan(0);
      const fail = () => {
        throw new RangeError('of the caller');
      };
      await expect(drive({ ...options, onProgress: fail })).rejects.toThrow('of the caller');
      const early = new AbortController();
      const run = drive({ ...options, signal: early.signal });
      early.abort(new Error('not today'));
      await expect(run).rejects.toThrow('not today');
      const aborted = AbortSignal.abort(new Error('never'));
      await expect(drive({ ...options, signal: aborted })).rejects.toThrow('never');
    };
    await Promise.all([100, Number.POSITIVE_INFINITY].map(endsEarly));
  });

  it('interrupts calls that hang when its signal is aborted after the last one came due', async () => {
    const run = () => {
      const controller = new AbortController();
      return drive({
        task: codeUrl('export default () => new Promise(() => {})'),
        rate: 100,
        durationMs: 100,
        timeoutMs: 20_000,
        gates,
        signal: controller.signal,
        onProgress: ({ finishing }) => finishing && controller.abort(),
      });
    };
    const result = await runUntil(({ calls }) => calls.sent > 0, run);
    const { unsent = 0, ...errors } = kinds(result);
    expect(result.interrupted).toBe(true);
    expect(result.calls.sent).toBeGreaterThan(0);
    expect(errors).toEqual({ interrupted: result.calls.sent });
    expect(result.calls.failed).toBe(result.calls.sent + unsent);
  });

  it('is not interrupted by a signal after its last call ended', async () => {
    const controller = new AbortController();
    const { interrupted } = await drive({
      task: codeUrl(`
        export default () => {};
        export const teardown = () => new Promise((resolve) => setTimeout(resolve, 600));
      `),
      rate: 100,
      durationMs: 100,
      gates,
      signal: controller.signal,
      onProgress: ({ finishing }) => finishing && controller.abort(),
    });
    expect(interrupted).toBe(false);
  });
});

describe.concurrent('drive within its warm-up', () => {
  const options = {
    task: codeUrl('export default () => {}'),
    rate: 100,
    warmupMs: 600_000,
    durationMs: 100,
  };

  it('rejects with the reason of its signal: nothing counts yet', async () => {
    const controller = new AbortController();
    const onProgress = () => controller.abort(new Error('too soon'));
    const run = drive({ ...options, signal: controller.signal, onProgress });
    await expect(run).rejects.toThrow('too soon');
  });

  it('rejects with what onProgress throws', async () => {
    const onProgress = () => {
      throw new RangeError('of the caller');
    };
    await expect(drive({ ...options, onProgress })).rejects.toThrow('of the caller');
  });
});
