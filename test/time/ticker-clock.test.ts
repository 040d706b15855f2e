import { afterEach, describe, expect, test, vi } from 'vitest';
import { FixedWindow, HandleError, ManualClock, TickerClock } from '../../src/index.ts';
import { TICKER_CLOCK } from '../../src/memory/layout.ts';
import { createTickerCell, end, publish, runTicker } from '../../src/time/ticker-clock.ts';
import { TickerReader } from '../../src/time/ticker-reader.ts';
import { expectSame } from '../support/quick.ts';
import { Random, SEED } from '../support/random.ts';

/** A ticker that the test ticks by hand, and a reader of it. */
function handTicker(periodMs = 1) {
  const system = ManualClock.create({ nowMs: 1000 });
  const cell = createTickerCell(periodMs);
  const clock = new TickerReader(cell, system);
  const looks = vi.spyOn(system, 'now');
  const tick = () => {
    if (cell.isSpinning) Atomics.store(cell.beats, 0, Math.floor(system.now() * 4) | 0);
    else publish(cell, system.now());
  };
  /** A reading in microseconds since the start. */
  const read = () => clock.now() - 1e6;
  return { system, cell, clock, looks, tick, read };
}

/** Reads until the next 127 readings would not check the system clock. */
function trust({ clock, tick }: ReturnType<typeof handTicker>) {
  tick();
  for (let reading = 0; reading < 256; reading++) clock.now();
}

const PERIOD_US = 1000;
/** A reader checks the system clock at least once in this many readings. */
const MOST_READINGS = 128;

describe('a ticker clock', () => {
  // docs/tuning.md: "You may see a token late, but never early."
  test('reads the time of the latest tick', () => {
    const { system, tick, read } = handTicker();
    tick();
    system.advance(0.75);
    expect(read()).toBe(0);
    system.advance(0.25);
    tick();
    expect(read()).toBe(1000);
    system.advance(0.5);
    expect([read(), read(), read()]).toEqual([1000, 1000, 1000]);
  });

  test('checks the system clock after each tick, and then less and less often', () => {
    const { looks, tick, read } = handTicker();
    tick();
    looks.mockClear();
    const lookedAt: number[] = [];
    for (let reading = 0; reading < 600; reading++) {
      const before = looks.mock.calls.length;
      read();
      if (looks.mock.calls.length > before) lookedAt.push(reading);
    }
    expect(lookedAt).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 383, 511]);
  });

  test('trusts a ticker that is up to ten periods late', () => {
    const { system, tick, read } = handTicker();
    tick();
    system.advance(10);
    expect(read()).toBe(0);
    system.advance(0.001);
    expect(read()).toBe(10_001);
  });

  test('uses the system clock before the first tick and after the end', () => {
    const { system, cell, tick, read } = handTicker();
    expect(read()).toBe(0);
    system.advance(1);
    expect(read()).toBe(1000);
    tick();
    system.advance(0.5);
    expect([read(), read()]).toEqual([1000, 1000]);
    end(cell);
    expect(read()).toBe(1500);
    system.advance(0.001);
    expect(read()).toBe(1501);
  });

  test('that is only attached does not end the ticker for others', () => {
    const { cell, clock, tick, read } = handTicker();
    tick();
    TickerClock.attach(clock.handle).dispose();
    expect(cell.now()).toBe(1e6);
    expect(read()).toBe(0);
  });

  test('returns to a ticker that ticks again, and never runs backwards', () => {
    const { system, looks, tick, read } = handTicker();
    tick();
    system.advance(25);
    expect(read()).toBe(25_000);
    system.advance(1);
    tick();
    system.advance(0.5);
    expect(read()).toBe(26_000);
    system.advance(20);
    expect(read()).toBe(46_500);
    system.set(1000 + 40);
    tick();
    expect(read(), 'a tick that is older than what was read').toBe(46_500);
    system.set(1000 + 47);
    tick();
    looks.mockClear();
    for (let reading = 0; reading < 10_000; reading++) expectSame(read(), 47_000);
    expect(looks.mock.calls.length).toBeLessThan(100);
  });

  test.each([1e6 + 0.25, Number.POSITIVE_INFINITY, Number.NaN, Number.MAX_VALUE])(
    'rejects a tick of %d us that is ahead of the system clock',
    (publishedUs) => {
      const { cell, read } = handTicker();
      publish(cell, publishedUs);
      expect([read(), read()]).toEqual([0, 0]);
    },
  );

  test(`is in time at any pace, except for 127 readings after the ticker's death (ZEROTIME_SEED=${SEED})`, () => {
    const random = new Random(SEED);
    for (let run = 0; run < 200; run++) {
      const { system, clock, tick } = handTicker();
      let isAlive = true;
      let late = 0;
      let lastUs = Number.NEGATIVE_INFINITY;
      const wrong: object[] = [];
      let tickedUs = system.now();
      tick();
      for (let reading = 0; reading < 2000; reading++) {
        if (random.below(500) === 0) isAlive = !isAlive;
        // From hot loops to callers that come once an hour.
        system.advance(random.logarithmic(2e-5, random.pick([1e-4, 1, 3.6e6])));
        const nowUs = system.now();
        if (isAlive && nowUs >= tickedUs + PERIOD_US) {
          tickedUs = nowUs;
          tick();
        }
        const readUs = clock.now();
        if (readUs > nowUs || readUs < lastUs) wrong.push({ readUs, nowUs, lastUs });
        lastUs = readUs;
        late = readUs < nowUs - 10 * PERIOD_US ? late + 1 : 0;
        if (late >= MOST_READINGS) wrong.push({ late });
        if (isAlive && nowUs - readUs > PERIOD_US) wrong.push({ readUs, nowUs });
      }
      expect(wrong).toEqual([]);
    }
  });

  test.each([1, 0])(
    "notices the ticker's death in the next turn of the event loop, period %s",
    async (periodMs) => {
      const scene = handTicker(periodMs);
      const { system, read } = scene;
      trust(scene);
      system.advance(22);
      expect(read(), 'the same turn').toBe(0);
      await new Promise(setImmediate);
      expect(read()).toBe(22_000);
      system.advance(22);
      expect(read()).toBe(44_000);
    },
  );

  test("notices the ticker's death after a blocking sleep", () => {
    const scene = handTicker();
    trust(scene);
    scene.system.advance(22);
    scene.clock.sleepSync(scene.system.now() - 1);
    expect(scene.read()).toBe(22_000);
  });

  test('checks each reading while they are far apart', () => {
    const { system, looks, tick, read } = handTicker();
    tick();
    looks.mockClear();
    for (let reading = 1; reading <= 10; reading++) {
      system.advance(0.6);
      read();
    }
    expect(looks).toHaveBeenCalledTimes(10);
  });

  test('that is rarely read is in time at once, even if the ticker died long ago', () => {
    const { system, tick, read } = handTicker();
    tick();
    read();
    for (let hour = 1; hour < 5; hour++) {
      system.set(1000 + hour * 3_600_000);
      expect(read()).toBe(hour * 3.6e9);
    }
    tick();
    system.advance(3_600_000);
    expect(read(), 'a tick that was never seen before').toBe(5 * 3.6e9);
  });

  test('is past the instant when a sleep ends, without a tick', async () => {
    const { system, clock, tick, read } = handTicker();
    tick();
    expect(read()).toBe(0);
    const asleep = clock.sleep(1e6 + 5000);
    system.advance(5);
    await asleep;
    expect(read()).toBe(5000);
    system.advance(2);
    clock.sleepSync(1e6 + 7000);
    expect(read()).toBe(7000);
    expect(read()).toBe(7000);
  });

  test('ends the wait of a window, whose caller then tries again', async () => {
    const { system, clock, tick } = handTicker();
    tick();
    const window = FixedWindow.create({ limit: 1, intervalMs: 5, clock });
    expect(window.tryConsume()).toBe(true);
    const sleep = vi.spyOn(clock, 'sleep');
    // Otherwise it would retry until the next tick, which never comes here.
    sleep.mockImplementationOnce((untilUs) => TickerClock.prototype.sleep.call(clock, untilUs));
    sleep.mockRejectedValue(new Error('it came too early'));
    const waiting = window.wait();
    system.advance(5);
    await waiting;
    expect(window.tryConsume()).toBe(false);
  });

  test.each([
    [{ name: 'system' }, "not a ticker clock's handle"],
    [{ name: 'ticker' }, "no ticker clock's memory"],
    [{ name: 'ticker', buffer: new SharedArrayBuffer(16) }, "no ticker clock's memory"],
    [
      { name: 'ticker', buffer: new SharedArrayBuffer(createTickerCell(1).buffer.byteLength) },
      'a ticker cannot have a period of 0 ms',
    ],
    [{ name: 'ticker', buffer: createTickerCell(Number.NaN).buffer }, 'a period of NaN ms'],
  ])('is not attached to by %o', (handle, message) => {
    expect(() => TickerClock.attach(handle as never)).toThrow(HandleError);
    expect(() => TickerClock.attach(handle as never)).toThrow(message);
  });

  test.each([0.09, 1001, Number.NaN, '1'])('rejects a period of %s ms', async (periodMs) => {
    const options = { periodMs: periodMs as number };
    await expect(TickerClock.create(options)).rejects.toThrow(
      /^periodMs, unless 0, must be a number at least 0.1 and at most 1000, got /,
    );
  });
});

describe('a ticker clock', () => {
  test('that spins follows its ticker from reading to reading', () => {
    const scene = handTicker(0);
    const { system, looks, tick, read } = scene;
    trust(scene);
    let us = 0;
    for (const stepUs of [0.25, 3, 20, 0.5]) {
      us += stepUs;
      system.set(1000 + us / 1000);
      tick();
      looks.mockClear();
      expect(read()).toBe(us);
      expect(looks).not.toHaveBeenCalled();
    }
  });

  test('that spins is at most 100 us late at a look, and never ahead of one', () => {
    const scene = handTicker(0);
    const { system, cell, tick, read } = scene;
    tick();
    expect(read()).toBe(0);
    system.advance(0.1);
    expect(read()).toBe(0);
    system.advance(0.00025);
    expect(read()).toBe(100.25);
    trust(scene);
    // Damaged memory: as much ahead as a reader follows without a look, and more.
    Atomics.add(cell.beats, 0, 200);
    expect(read()).toBe(150.25);
    Atomics.add(cell.beats, 0, 1);
    expect(read(), 'no further in several steps').toBe(150.25);
    Atomics.add(cell.beats, 0, 201);
    expect(read(), 'time never runs backwards').toBe(150.25);
    system.advance(0.06);
    expect(read()).toBe(160.25);
  });

  test('that spins has beats that wrap around', () => {
    const scene = handTicker(0);
    const { system, tick, read } = scene;
    for (let minute = 0; minute < 40; minute++) {
      system.set(1000 + minute * 60_000);
      tick();
      expect(read()).toBe(minute * 60e6);
      system.advance(0.06);
      expect(read(), 'the last tick').toBe(minute * 60e6);
      system.advance(0.05);
      expect(read(), 'the system clock').toBe(minute * 60e6 + 110);
    }
  });
});

// Runs the ticker's thread code in this thread; it ends when the mocked clock has no readings left.

const ENDED = new Error('no reading is left');
afterEach(() => vi.restoreAllMocks());

/** Ticks at these clock readings in microseconds; returns the published times and posted messages. */
function ticked(periodMs: number, readings: readonly number[]) {
  const cell = createTickerCell(periodMs);
  const left = [...readings];
  const published: number[] = [];
  const said: unknown[] = [];
  let beats = cell.beats[0];
  vi.spyOn(process, 'hrtime').mockImplementation(() => {
    const beat = cell.beats[0] as number;
    if (beat !== beats) published.push(cell.isSpinning ? cell.timeOf(beat, 1e7) : cell.now());
    beats = beat;
    const us = left.shift();
    if (us === undefined) throw ENDED;
    return [Math.floor(us / 1e6), (us % 1e6) * 1000];
  });
  const parentPort = { postMessage: (message: unknown) => said.push(message) };
  const load = () => ({ parentPort });
  expect(() => runTicker(cell.buffer, TICKER_CLOCK, load)).toThrow(ENDED);
  return { published, said };
}

test('a ticker publishes the time once per period, and posts a message the first time', () => {
  const { published, said } = ticked(1, [5e6, 5e6 + 400, 5e6 + 999, 5e6 + 1000, 5e6 + 2000]);
  // The first is late for a schedule that began at 0, so the second follows at once.
  expect(published).toEqual([5e6, 5e6 + 400, 5e6 + 1000, 5e6 + 2000]);
  expect(said).toEqual(['ticking']);
});

test('late wake-ups do not add up, and missed ticks are not made up for', () => {
  const { published } = ticked(1, [0, 1300, 1999, 2000, 7500, 7600, 8499, 8500]);
  // At 1300 for 1000, so the next is due at 2000; at 7500 for 3000, so the schedule restarts there.
  expect(published).toEqual([0, 1300, 2000, 7500, 7600, 8500]);
});

test('a ticker that spins publishes each quarter of a microsecond once', () => {
  const { published, said } = ticked(0, [5e6, 5e6, 5e6 + 0.1, 5e6 + 0.3, 5e6 + 40, 8e6 + 0.75]);
  expect(published).toEqual([5e6, 5e6 + 0.25, 5e6 + 40, 8e6 + 0.75]);
  expect(said).toEqual(['ticking']);
});
