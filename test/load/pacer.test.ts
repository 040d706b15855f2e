import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TokenBucket } from '../../src/limiters/token-bucket.ts';
import { planArrivals } from '../../src/load/plan/arrival-plan.ts';
import { shareTimetable, TimetableSlots } from '../../src/load/plan/timetable.ts';
import { Fifo } from '../../src/load/send/fifo.ts';
import { Pacer, reservationsAhead } from '../../src/load/send/pacer.ts';
import { ManualClock } from '../../src/time/manual-clock.ts';
import { expectSame } from '../support/quick.ts';

const RATE = 500;
const SLOT_MS = 1_000 / RATE;

interface PacedOptions {
  readonly slots: number;
  readonly outstanding?: number;
}

/** A pacer on a manual clock, alone on a bucket with a token every 2 ms. */
class Paced {
  readonly clock = ManualClock.create({ nowMs: 1_000 });
  readonly bucket = TokenBucket.create({ rate: RATE, burst: 1, clock: this.clock });
  readonly pacer: Pacer;
  /** What came due since the last call of `at`, in ms from the start. */
  #due: number[] = [];
  ended = false;

  /** Whether this client can't send what it has taken. */
  isFull = false;

  constructor({ slots, outstanding = reservationsAhead(RATE, 1) }: PacedOptions) {
    this.pacer = new Pacer({
      bucket: this.bucket,
      outstanding,
      endUs: (1_000 + (slots - 0.5) * SLOT_MS) * 1_000,
      // If the thread slept, it would wait for a clock that only this thread can move.
      isIdle: () => false,
      isFull: () => this.isFull,
      onDue: (dueUs) => this.#due.push(dueUs / 1_000 - 1_000),
      onEnd: () => {
        this.ended = true;
      },
    });
    this.pacer.start();
    // Or its timers run on, in other test files too.
    onTestFinished(() => this.pacer.stop(0));
  }

  /** How many came due in all. */
  issued = 0;

  /** Moves the clock to `ms` from the start and returns what comes due. */
  async at(ms: number): Promise<number[]> {
    this.clock.set(1_000 + ms);
    this.pacer.wake();
    await turnOfEventLoop();
    this.issued += this.#due.length;
    return this.#due.splice(0);
  }
}

describe('Pacer', () => {
  it('issues each slot of the schedule at its instant and not before, until the end', async () => {
    const paced = new Paced({ slots: 4 });
    expect(await paced.at(0)).toEqual([0]);
    expect(await paced.at(1.999)).toEqual([]);
    expect(await paced.at(2)).toEqual([2]);
    expect(await paced.at(4.5)).toEqual([4]);
    expect(paced.ended).toBe(false);
    expect(await paced.at(6)).toEqual([6]);
    expect(paced.ended, 'the rate may still go up').toBe(false);
    expect(await paced.at(7)).toEqual([]);
    expect(paced.ended).toBe(true);
    expect(await paced.at(100)).toEqual([]);
  });

  it('leaves slots to others while it is full, and takes the next ones after that', async () => {
    const paced = new Paced({ slots: 1_000 });
    paced.isFull = true;
    const taken = reservationsAhead(RATE, 1);
    expect((await paced.at(0)).length).toBe(1);
    for (let ms = 2; ms <= 1_000; ms += 2) await paced.at(ms);
    const before = paced.issued;
    expect(before).toBe(taken);
    paced.isFull = false;
    expect(await paced.at(1_100)).toEqual([]);
    expect(await paced.at(1_100)).toEqual([1_100]);
    expect(await paced.at(1_102)).toEqual([1_102]);
  });

  it('lets events have their turn after a number of late requests', async () => {
    const paced = new Paced({ slots: 1_000, outstanding: 300 });
    expect((await paced.at(598)).length).toBe(128);
    expect((await paced.at(598)).length).toBe(128);
    expect((await paced.at(598)).at(-1)).toBe(598);
  });

  it("issues late, but with the schedule's instants, after a stall within the lookahead", async () => {
    const paced = new Paced({ slots: 1_000 });
    await paced.at(0);
    const late = await paced.at(201);
    expect(late).toEqual(Array.from({ length: 100 }, (_, index) => 2 + 2 * index));
    expect(await paced.at(202)).toEqual([202]);
  });

  it('loses the unreserved slots of a longer stall, then continues at the rate', async () => {
    const paced = new Paced({ slots: 1_000 });
    await paced.at(0);
    // 125 slots were reserved, up to the one at 250 ms; at 401 ms new ones follow.
    expect(await paced.at(401)).toHaveLength(125);
    expect(await paced.at(405)).toEqual([401, 403, 405]);
  });

  it('follows a rate change at once, including its reservations', async () => {
    const paced = new Paced({ slots: 1_000 });
    expect(await paced.at(1)).toEqual([0]);
    paced.bucket.reconfigure({ rate: 1000 }); // half a token is in the bucket
    paced.pacer.follow(reservationsAhead(1000, 1));
    expect(await paced.at(1.499)).toEqual([]);
    expect(await paced.at(3.5)).toEqual([1.5, 2.5, 3.5]);
    paced.bucket.reconfigure({ rate: 100 });
    paced.pacer.follow(reservationsAhead(100, 1));
    expect(await paced.at(13.499)).toEqual([]);
    expect(await paced.at(33.5)).toEqual([13.5, 23.5, 33.5]);
  });

  it('keeps the instants due before a rate change, though they are issued late', async () => {
    const paced = new Paced({ slots: 1_000 });
    await paced.at(0);
    paced.clock.set(1_000 + 5);
    paced.bucket.reconfigure({ rate: 1000 }); // half a token is in the bucket
    paced.pacer.follow(reservationsAhead(1000, 1));
    expect(await paced.at(6.5)).toEqual([2, 4, 5.5, 6.5]);
  });

  it('issues the requests that a higher rate adds before the end', async () => {
    const paced = new Paced({ slots: 2 });
    expect(await paced.at(0)).toEqual([0]);
    paced.bucket.reconfigure({ rate: 1000 });
    paced.pacer.follow(reservationsAhead(1000, 1));
    expect(await paced.at(50)).toEqual([1, 2]);
    expect(paced.ended).toBe(true);
  });

  it('ends early on request, after the requests due before', async () => {
    const paced = new Paced({ slots: 1_000 });
    await paced.at(0);
    paced.pacer.stop(1_000_000 + 7_000);
    expect(await paced.at(50)).toEqual([2, 4, 6]);
    expect(paced.ended).toBe(true);
  });

  it.each([
    ['asleep', true],
    ['on timers', false],
  ])('is never early on the real clock, %s', async (_how, idle) => {
    const { bucket, startUs } = planArrivals(RATE, 1, 50);
    const earliness: number[] = [];
    await new Promise<void>((resolve) => {
      const pacer = new Pacer({
        bucket,
        outstanding: reservationsAhead(RATE, 1),
        endUs: startUs + 200_000,
        isIdle: () => idle,
        onDue: (dueUs) => earliness.push(dueUs - bucket.clock.now()),
        onEnd: resolve,
      });
      pacer.start();
    });
    expect(earliness.length).toBeGreaterThan(0);
    expect(Math.max(...earliness)).toBeLessThanOrEqual(0);
  });

  it('bounds the instants still to come: by its next request, and by the time', async () => {
    const paced = new Paced({ slots: 3 });
    const earliestMs = () => paced.pacer.earliestUs / 1_000 - 1_000;
    expect(await paced.at(0)).toEqual([0]);
    // A rise of the rate may move the next request to any instant from now on.
    expect(earliestMs()).toBeCloseTo(-0.001, 9);
    paced.clock.set(1_000 + 3);
    expect(earliestMs(), 'a request is overdue').toBe(2);
    expect(await paced.at(3)).toEqual([2]);
    expect(earliestMs()).toBeCloseTo(2.999, 9);
    expect(await paced.at(10)).toEqual([4]);
    expect(earliestMs()).toBeLessThanOrEqual(10);
  });

  it('bounds them by the time at which it was asked, however long the answer takes', () => {
    const clock = ManualClock.create();
    const slow = {
      get dueUs() {
        clock.advance(100);
        return 1e9;
      },
    };
    const bucket = { clock, reserve: () => slow };
    const told = { isIdle: () => false, onDue: () => undefined, onEnd: () => undefined };
    const pacer = new Pacer({ bucket, outstanding: 1, endUs: 1e9, ...told });
    pacer.start();
    const askedUs = clock.now();
    expect(pacer.earliestUs).toBe(askedUs - 1);
  });

  it('takes turns with other threads in reserving, so that their slots alternate', () => {
    const clock = ManualClock.create({ nowMs: 1_000 });
    const bucket = TokenBucket.create({ rate: 6_400, burst: 1, clock });
    const owners: string[] = [];
    const pacers = ['a', 'b'].map((name) => {
      const reserve = () => {
        owners.push(name);
        return bucket.reserve();
      };
      const told = { isIdle: () => false, onDue: () => undefined, onEnd: () => undefined };
      return new Pacer({
        bucket: { clock, reserve },
        outstanding: 64,
        alternates: true,
        endUs: 2e9,
        ...told,
      });
    });
    onTestFinished(() => {
      for (const pacer of pacers) pacer.stop(0);
    });
    for (let turn = 0; turn < 40; turn += 1) for (const pacer of pacers) pacer.start();
    expect(owners.slice(0, 128).join('')).toBe('aabb'.repeat(32));
  });

  it('holds the same number of reservations in each thread, at least one', () => {
    expect(reservationsAhead(2_000, 4)).toBe(125);
    expect(reservationsAhead(1, 8)).toBe(1);
    expect(reservationsAhead(0.001, 1)).toBe(1);
  });
});

it('sleeps to the end once all slots of a timetable are taken', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
  const clock = ManualClock.create({ nowMs: 1_000 });
  const shared = shareTimetable(
    { kind: 'listed', instantsUs: Float64Array.of(0, 5_000) },
    clock.now(),
  );
  const due: number[] = [];
  let turns = 0;
  let ended = false;
  const pacer = new Pacer({
    bucket: new TimetableSlots(shared, clock),
    outstanding: 64,
    alternates: true,
    endUs: clock.now() + 10e6,
    isIdle: () => false,
    isFull: () => {
      turns += 1;
      return false;
    },
    onDue: (dueUs) => due.push(dueUs / 1_000 - 1_000),
    onEnd: () => {
      ended = true;
    },
  });
  onTestFinished(() => pacer.stop(0));
  pacer.start();
  for (let ms = 0; ms < 20_000 && !ended; ms++) {
    clock.advance(1);
    vi.advanceTimersByTime(1);
  }
  expect(due).toEqual([0, 5]);
  expect(ended).toBe(true);
  // Some turns for the slots, and a few at the end for the slack of timers.
  expect(turns).toBeLessThan(20);
});

describe('Fifo', () => {
  it('returns items in order of arrival, also across compaction', () => {
    const fifo = new Fifo<number>();
    let next = 0;
    for (let item = 0; item < 10_000; item += 1) {
      fifo.push(item);
      if (item % 3 !== 0) expectSame(fifo.shift(), next++);
    }
    expect(fifo.length).toBe(10_000 - next);
    while (fifo.length > 0) {
      expectSame(fifo.peek(), next);
      expectSame(fifo.shift(), next++);
    }
    expect(next).toBe(10_000);
    expect(fifo.peek()).toBeUndefined();
    expect(fifo.shift()).toBeUndefined();
    fifo.push(1);
    expect(fifo.shift()).toBe(1);
  });

  it('visits all remaining items, oldest first', () => {
    const fifo = new Fifo<number>();
    for (const item of [1, 2, 3, 4, 5]) fifo.push(item);
    fifo.shift();
    const seen: number[] = [];
    fifo.forEach((item) => {
      seen.push(item);
    });
    expect(seen).toEqual([2, 3, 4, 5]);
  });
});
