import { describe, expect, it } from 'vitest';
import { exitCode } from '../../src/cli/load/outcome.ts';
import { renderSummary } from '../../src/cli/load/summary.ts';
import { PLAIN } from '../../src/cli/terminal.ts';
import { RATES } from '../../src/load/plan/option-table.ts';
import { runLoad } from '../../src/load/threads/run.ts';
import { loadOptions, NO_GATES, replacedWorker } from '../support/load-options.ts';

const OPTIONS = loadOptions({ durationMs: 200, timeoutMs: 100 });

const never = new AbortController().signal;

describe.concurrent('runLoad', () => {
  it('reports a thread that crashes, with what it had told by then, and ends the run', async () => {
    const loadWorker = replacedWorker(`
      parentPort.once('message', ({ endUs }) => {
        const admissions = Float64Array.of(endUs - 2e4 * threadId);
        const counters = { sent: 1, succeeded: 1, failed: 0 };
        parentPort.postMessage({ ...REPORT, admissions, counters });
        setImmediate(() => { throw new Error('out of luck'); });
      });
      parentPort.postMessage({ type: 'ready' });
    `);
    const result = await runLoad({ ...OPTIONS, durationMs: 60_000 }, { stop: never, loadWorker });
    expect(result.interrupted).toBe(true);
    expect(result.threads.map(({ crash }) => crash)).toEqual([
      'Error: out of luck',
      'Error: out of luck',
    ]);
    expect(result.admitted).toBe(2);
    expect(exitCode(result)).toBe(1);
    const summary = renderSummary(result, PLAIN).join('\n');
    expect(summary).toContain('thread 2 crashed, its results are incomplete: Error: out of luck');
  });

  it('does not wait forever for a stuck thread', async () => {
    const loadWorker = replacedWorker(`
      parentPort.once('message', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
      parentPort.postMessage({ type: 'ready' });
    `);
    const result = await runLoad({ ...OPTIONS, threads: 1 }, { stop: never, loadWorker });
    expect(result.threads.map(({ crash }) => crash)).toEqual(['did not finish in time']);
    expect(exitCode(result)).toBe(1);
  });

  it('counts what a thread admitted before it received an early end', async () => {
    const loadWorker = replacedWorker(`
      parentPort.on('message', ({ type, endUs }) => {
        if (type !== 'stop') return;
        const admissions = Float64Array.of(endUs + 1e4, endUs + 3e4);
        const counters = { sent: 2, succeeded: 2, failed: 0 };
        parentPort.postMessage({ ...REPORT, admissions, counters });
        process.exit();
      });
      parentPort.postMessage({ type: 'ready' });
    `);
    const stop = new AbortController();
    const onProgress = () => stop.abort();
    const options = { ...OPTIONS, threads: 1, durationMs: 60_000 };
    const result = await runLoad(options, { stop: stop.signal, onProgress, loadWorker });
    expect(result).toMatchObject({ interrupted: true, admitted: 2 });
    expect(result.admittedPer100Ms.reduce((sum, count) => sum + count)).toBe(2);
  });

  it('detects a limiter that admits too much', async () => {
    // Two threads that both get each slot of the schedule.
    const loadWorker = replacedWorker(`
      parentPort.on('message', ({ endUs }) => {
        const admissions = Float64Array.from({ length: 10 }, (_, slot) => endUs - 1e5 + slot * 1e4);
        const counters = { sent: 10, succeeded: 10, failed: 0 };
        parentPort.postMessage({ ...REPORT, admissions, counters });
        process.exit();
      });
      parentPort.postMessage({ type: 'ready' });
    `);
    const result = await runLoad(OPTIONS, { stop: never, loadWorker });
    expect(result.guarantee?.held).toBe(false);
    expect(result.guarantee?.tightest).toMatchObject({ admitted: 20 });
    expect(exitCode(result)).toBe(2);
    expect(renderSummary(result, PLAIN).join('\n')).toMatch(
      /BROKEN.*\n +worst of 210 spans: 20 in 90 ms, 10 allowed/,
    );
  });

  it('keeps the guarantee if the rate changes as early as possible', async () => {
    // A busy thread answers the first change late, and the others wait for that.
    const stop = new AbortController();
    const wanted = 500 * 1.25 ** 4;
    const result = await runLoad(
      { ...OPTIONS, rate: 500, durationMs: 3.6e6 },
      {
        stop: stop.signal,
        onProgress: ({ rateWanted }) => {
          if (rateWanted === wanted) stop.abort();
        },
        onSteerable: (steer) => {
          for (let step = 0; step < 4; step++) steer(1.25);
        },
      },
    );
    expect(result.wantedRangePerSecond).toEqual([500, wanted]);
    expect(result.guarantee?.held).toBe(true);
  });

  it('changes the rate while it runs, within the valid rates', async () => {
    const stop = new AbortController();
    let steer: (factor: number) => void = () => undefined;
    const wanted = new Set<number | undefined>();
    const result = await runLoad(
      { ...OPTIONS, gates: NO_GATES, durationMs: 3.6e6 },
      {
        stop: stop.signal,
        onSteerable: (given) => {
          steer = given;
        },
        onProgress: ({ rateWanted }) => {
          wanted.add(rateWanted);
          // In turn: from 100/s to 200/s, to the minimum, and the end.
          if (rateWanted === undefined) steer(2);
          else if (rateWanted === 200) steer(0);
          else stop.abort();
        },
      },
    );
    expect([...wanted]).toEqual([undefined, 200, RATES.min]);
    expect(result.wantedRangePerSecond).toEqual([RATES.min, 200]);
    expect(result.guarantee?.held).toBe(true);
    expect(exitCode(result)).toBe(0);
  });
});
