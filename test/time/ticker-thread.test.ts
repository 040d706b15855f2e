import { execFile } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock, TickerClock, TokenBucket } from '../../src/index.ts';
import { TickerCell } from '../../src/time/ticker-cell.ts';
import { Crew, compiled } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import type { ReadJob, ReadTimes } from '../workers/ticker-reader.ts';

/** Long, because the machine may be busy; it only ends a test that hangs. */
const PATIENCE_US = 60e6;

/** Reads until a reading is as wanted; fails if none ever is. */
function readUntil(clock: Clock, what: string, wanted: (us: number, beforeUs: number) => boolean) {
  const startUs = systemClock.now();
  for (;;) {
    const beforeUs = systemClock.now();
    if (wanted(clock.now(), beforeUs)) return;
    if (beforeUs > startUs + PATIENCE_US) throw new Error(`never: ${what}`);
  }
}

/** Waits until no reading is older than its call: all are the system clock's own. */
function awaitFallback(clock: Clock): void {
  let inARow = 0;
  readUntil(clock, 'fell back', (us, beforeUs) => {
    // A tick may come between the two, but not so often.
    inARow = us >= beforeUs ? inARow + 1 : 0;
    return inARow === 1000;
  });
}

/** Waits until the cell says that nothing more will come. */
async function awaitEnd(clock: Clock): Promise<void> {
  const { buffer } = clock.handle as { buffer: SharedArrayBuffer };
  const cell = TickerCell.open(buffer);
  while (cell.now() !== Number.NEGATIVE_INFINITY) await setImmediate();
}

/** Waits for a reading that is the one before again, so many times: a ticker's. */
function awaitTicks(clock: Clock, ticks: number): void {
  let lastUs = Number.NaN;
  let countedUs = Number.NaN;
  let left = ticks;
  readUntil(clock, 'ticked', (us) => {
    if (us === lastUs && us !== countedUs) {
      countedUs = us;
      left--;
    }
    lastUs = us;
    return left === 0;
  });
}

async function started(periodMs?: number): Promise<TickerClock> {
  const clock = await TickerClock.create(periodMs === undefined ? {} : { periodMs });
  onTestFinished(() => clock.dispose());
  return clock as unknown as TickerClock; // the same class, compiled
}

describe("a ticker's thread", () => {
  test.each([undefined, 0.1, 3])('ticks with a period of %s ms', async (periodMs) => {
    awaitTicks(await started(periodMs), 10);
  });

  test('does not keep the process alive, nor its waits from ending', async () => {
    const script = fileURLToPath(compiled('ticking-process'));
    const ended = promisify(execFile)(process.execPath, [script], { timeout: 60_000 });
    expect(await ended).toEqual({ stdout: 'ticked\n', stderr: '' });
  });

  test('is ended by dispose: its readers fall back, and those of other threads', async () => {
    const clock = await started();
    const other = TickerClock.attach(structuredClone(clock.handle));
    other.dispose();
    awaitTicks(other, 3);
    clock.dispose();
    clock.dispose();
    await awaitEnd(clock);
    awaitFallback(clock);
    awaitFallback(other);
  });

  test('is ended by the end of a block that uses it', async () => {
    const clock = await started();
    clock[Symbol.dispose]();
    await awaitEnd(clock);
    awaitFallback(clock);
  });

  test('may be killed: readers notice by themselves, and nothing is thrown', async () => {
    const { startTicker } = (await import(
      new URL('../../dist/src/time/ticker-thread.js', import.meta.url).href
    )) as typeof import('../../src/time/ticker-thread.ts');
    const cell = TickerCell.create(1);
    const kill = await startTicker(cell);
    const clock = TickerClock.over(cell, systemClock);
    awaitTicks(clock, 3);
    kill();
    // The event loop does not turn before this: nobody has told the reader.
    awaitFallback(clock);
    expect(cell.now(), 'the last tick').toBeGreaterThan(0);
    await awaitEnd(clock);
    awaitFallback(clock);
  });

  test('is read by four threads, and is never ahead for any, nor goes back', async () => {
    const THREADS = 4;
    const clock = await started();
    const { handle } = TokenBucket.create({ rate: 1, burst: 1, clock });
    const crew = await Crew.start<ReadJob, ReadTimes>('ticker-reader', THREADS);
    const job = { handle, arrivals: THREADS, readings: 500_000 };
    for (let round = 0; ; round++) {
      const threads = await crew.run({ ...job, gate: new Gate().buffer });
      for (const { mostAheadUs, mostBackUs } of threads) {
        expect(mostAheadUs).toBeLessThanOrEqual(0);
        expect(mostBackUs).toBeLessThanOrEqual(0);
      }
      if (threads.every(({ repeated }) => repeated > 0)) break;
      expect(round, 'rounds in which a thread saw no ticks').toBeLessThan(100);
    }
  });
});
