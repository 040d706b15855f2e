import { execFile } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock, TickerClock, TokenBucket } from '../../src/index.ts';
import { createTickerCell } from '../../src/time/ticker-clock.ts';
import { TickerCell, TickerReader } from '../../src/time/ticker-reader.ts';
import { Crew, compiled } from '../support/crew.ts';
import { notingEnvironment } from '../support/preload.ts';
import { until } from '../support/settled.ts';

setFlagsFromString('--expose-gc');

/** Long enough for a busy machine; only a test that hangs gets here. */
const TIMEOUT_US = 60e6;

/** Reads until a reading meets the condition; throws if none does. */
function readUntil(clock: Clock, what: string, wanted: (us: number, beforeUs: number) => boolean) {
  const startUs = systemClock.now();
  for (;;) {
    const beforeUs = systemClock.now();
    if (wanted(clock.now(), beforeUs)) return;
    if (beforeUs > startUs + TIMEOUT_US) throw new Error(`never: ${what}`);
  }
}

/** Waits until the reader has fallen back: no reading is older than its call. */
function awaitFallback(clock: Clock): void {
  let inARow = 0;
  readUntil(clock, 'fell back', (us, beforeUs) => {
    // A tick may fall between the two readings, but not a thousand times in a row.
    inARow = us >= beforeUs ? inARow + 1 : 0;
    return inARow === 1000;
  });
}

/** Waits until the cell is marked as ended. */
async function awaitEnd(clock: Clock): Promise<void> {
  const { buffer } = clock.handle as { buffer: SharedArrayBuffer };
  const cell = TickerCell.open(buffer);
  await until(() => cell.now() === Number.NEGATIVE_INFINITY);
}

/** Waits until a reading has been repeated `ticks` times, as only a ticker's readings are. */
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
  return clock as unknown as TickerClock; // the same class, but compiled
}

describe("a ticker's thread", () => {
  // docs/tuning.md: "A TickerClock saves it"
  test.each([undefined, 0.1, 3])('ticks with a period of %s ms', async (periodMs) => {
    awaitTicks(await started(periodMs), 10);
  });

  test('keeps neither the process nor its waits from ending', async () => {
    const args = [fileURLToPath(compiled('lonely')), 'ticker'];
    const ended = promisify(execFile)(process.execPath, args, { timeout: 60_000 });
    expect(await ended).toEqual({ stdout: 'in time\n', stderr: '' });
  });

  test("ignores the process's options", async () => {
    const options = { timeout: 60_000, env: notingEnvironment() };
    const args = [fileURLToPath(compiled('lonely')), 'ticker'];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, options);
    expect([stdout, stderr], 'only the main thread loads it').toEqual(['in time\n', 'loaded\n']);
  });

  test('is ended by dispose: its readers in all threads fall back', async () => {
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

  test('is ended by the end of a using block', async () => {
    const clock = await started();
    clock[Symbol.dispose]();
    await awaitEnd(clock);
    awaitFallback(clock);
  });

  test('may be killed: readers notice by themselves, and nothing is thrown', async () => {
    const { startTicker } = (await import(
      new URL('../../dist/src/time/ticker-clock.js', import.meta.url).href
    )) as typeof import('../../src/time/ticker-clock.ts');
    const cell = createTickerCell(1);
    const kill = await startTicker(cell, true);
    const clock = new TickerReader(cell, systemClock);
    awaitTicks(clock, 3);
    kill();
    // The event loop has not turned yet, so no message has reached the reader.
    awaitFallback(clock);
    expect(cell.now(), 'the last tick').toBeGreaterThan(0);
    await awaitEnd(clock);
    awaitFallback(clock);
  });

  test.each([true, false])('that spins is in time, precise %s', async (precise) => {
    const clock = await TickerClock.create({ periodMs: 0, precise });
    onTestFinished(() => clock.dispose());
    const { beats } = TickerCell.open((clock.handle as { buffer: SharedArrayBuffer }).buffer);
    for (let ticks = 0; ticks < 10; ticks++) {
      const beat = Atomics.load(beats, 0);
      readUntil(clock, 'ticked', () => Atomics.load(beats, 0) !== beat);
    }
    let lastUs = 0;
    let wrong = 0;
    for (let reading = 0; reading < 100_000; reading++) {
      const us = clock.now();
      if (!(us >= lastUs && us <= systemClock.now())) wrong++;
      lastUs = us;
    }
    expect(wrong, 'readings that ran backwards or ahead').toBe(0);
    clock.dispose();
    awaitFallback(clock as unknown as TickerClock);
  });

  test('ends when its clock is collected as garbage', async () => {
    const gc = runInNewContext('gc');
    const { buffer } = (await TickerClock.create()).handle as { buffer: SharedArrayBuffer };
    const cell = TickerCell.open(buffer);
    while (cell.now() !== Number.NEGATIVE_INFINITY) {
      await setImmediate();
      gc();
    }
  });

  // docs/tuning.md: "It lags by up to a period, and is never ahead."
  // docs/tuning.md: "Time never runs backwards for a thread."
  test('is read by four threads, and is never ahead and never runs backwards for any', async () => {
    const THREADS = 4;
    const clock = await started();
    const { handle } = TokenBucket.create({ rate: 1, burst: 1, clock });
    const crew = await Crew.of('clocked', 'readTicker', THREADS);
    for (let round = 0; ; round++) {
      const threads = await crew.run({ handle, readings: 500_000 });
      for (const { mostAheadUs, mostBackUs } of threads) {
        expect(mostAheadUs).toBeLessThanOrEqual(0);
        expect(mostBackUs).toBeLessThanOrEqual(0);
      }
      if (threads.every(({ repeated }) => repeated > 0)) break;
      expect(round, 'rounds in which a thread saw no ticks').toBeLessThan(100);
    }
  });
});
