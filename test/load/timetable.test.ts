import { describe, expect, it } from 'vitest';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import { planArrivals } from '../../src/load/plan/arrival-plan.ts';
import { randomNumbers } from '../../src/load/plan/random.ts';
import { RateCourse } from '../../src/load/plan/rate-course.ts';
import {
  instantsOf,
  shareTimetable,
  type Timetable,
  TimetableCheck,
  TimetableSlots,
  timetableOf,
} from '../../src/load/plan/timetable.ts';
import { Pacer } from '../../src/load/send/pacer.ts';
import { ManualClock } from '../../src/time/manual-clock.ts';
import { expectSame } from '../support/quick.ts';

const SECOND = 1e6;
const RATE = 1_000;
const SEEDS = Array.from({ length: 10 }, (_, seed) => seed);
/** A correct timetable exceeds these for one seed in a thousand, and the seeds are always the same. */
const CRITICAL = { 49: 85.35, 63: 103.44 } as const;

function all(timetable: Timetable | undefined): number[] {
  const instants: number[] = [];
  if (timetable === undefined) return instants;
  const source = instantsOf(timetable);
  for (let next = source.next(); next.done !== true; next = source.next()) {
    instants.push(next.value);
  }
  return instants;
}

/** A Poisson timetable of `seconds` at 1,000/s. */
function poisson(seed: number, seconds: number, warmUpS = 0): number[] {
  const terms = { rate: RATE, ramp: undefined, durationMs: seconds * 1_000 };
  return all(timetableOf({ ...terms, arrivals: { kind: 'poisson', seed } }, warmUpS * SECOND));
}

function gapsOf(instants: readonly number[]): number[] {
  return instants.slice(1).map((us, at) => us - (instants[at] as number));
}

/** The class of a gap among `classes`, which exponential gaps at the rate meet equally often. */
function classOf(gapUs: number, classes: number): number {
  const below = -Math.expm1((-gapUs * RATE) / SECOND);
  return Math.min(classes - 1, Math.floor(below * classes));
}

/** Pearson's statistic of counts that should all be the same. */
function chiSquare(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

function tally(classes: number, values: readonly number[]): number[] {
  const counts = new Array<number>(classes).fill(0);
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

describe('a Poisson timetable', () => {
  it.each(SEEDS)('has exponential gaps, by a chi-square test: seed %i', (seed) => {
    const classes = gapsOf(poisson(seed, 20)).map((gap) => classOf(gap, 50));
    expect(chiSquare(tally(50, classes))).toBeLessThan(CRITICAL[49]);
  });

  it.each(SEEDS)('has gaps that do not depend on the one before: seed %i', (seed) => {
    const classes = gapsOf(poisson(seed, 20)).map((gap) => classOf(gap, 8));
    const pairs = classes.slice(1).map((later, at) => 8 * (classes[at] as number) + later);
    expect(chiSquare(tally(64, pairs))).toBeLessThan(CRITICAL[63]);
  });

  it('is told by that test from even and from uniform gaps', () => {
    const random = randomNumbers(1);
    const even = tally(50, new Array(20_000).fill(classOf(SECOND / RATE, 50)));
    const uniform = Array.from({ length: 20_000 }, () => (2 * SECOND * random()) / RATE);
    const classes = uniform.map((gap) => classOf(gap, 50));
    for (const counts of [even, tally(50, classes)]) {
      expect(chiSquare(counts)).toBeGreaterThan(CRITICAL[49]);
    }
  });

  it('has as many instants as the rate says, ascending and within the run', () => {
    for (const seed of SEEDS) {
      const instants = poisson(seed, 3);
      expect(instants).toHaveLength(3 * RATE);
      expect(Math.min(...gapsOf(instants))).toBeGreaterThanOrEqual(0);
      expect(instants[0]).toBeGreaterThanOrEqual(0);
      expect(instants.at(-1)).toBeLessThan(3 * SECOND);
    }
  });

  it('is repeated by its seed, and by no other', () => {
    expect(poisson(7, 1)).toEqual(poisson(7, 1));
    expect(poisson(7, 1)).not.toEqual(poisson(8, 1));
  });

  it('has as many instants as the rate says in the warm-up, and in the run after it', () => {
    const instants = poisson(3, 1, 0.5);
    expect(instants.filter((us) => us < 0.5 * SECOND)).toHaveLength(RATE / 2);
    expect(instants.filter((us) => us >= 0.5 * SECOND)).toHaveLength(RATE);
    expect(instants.at(-1)).toBeLessThan(1.5 * SECOND);
  });

  it.each([
    ['that ends within the run', 4, 16_000],
    ['that the run cuts off', 20, 8_800],
  ])('follows a ramp %s', (_which, overS, count) => {
    const ramp = { from: 400, to: 4_000, overMs: overS * 1_000 };
    // 2,200/s on average for 4 s, then 4,000/s; or 400/s to 1,480/s in 6 of 20 s.
    const seconds = overS === 4 ? 5.8 : (20 * (Math.sqrt(0.4 ** 2 + 2 * 0.18 * 8.8) - 0.4)) / 3.6;
    const terms = { rate: 4_000, ramp, durationMs: seconds * 1_000 };
    const instants = all(timetableOf({ ...terms, arrivals: { kind: 'poisson', seed: 5 } }, 0));
    expect(instants).toHaveLength(count);
    // What flowed in until each instant is spread evenly if the instants follow the rate.
    const tokens = instants.map((us) => {
      const s = us / SECOND;
      const climbed = Math.min(s, overS);
      const slope = 3_600 / overS;
      return 400 * climbed + (slope * climbed ** 2) / 2 + 4_000 * (s - climbed);
    });
    const classes = tokens.map((sum) => Math.min(49, Math.floor((50 * sum) / count)));
    expect(chiSquare(tally(50, classes))).toBeLessThan(CRITICAL[49]);
  });

  it('falls to a standstill with a ramp to a rate near zero', () => {
    const ramp = { from: 100, to: 0.001, overMs: 1_000 };
    const terms = { rate: 0.001, ramp, durationMs: 2_000 };
    const instants = all(timetableOf({ ...terms, arrivals: { kind: 'poisson', seed: 5 } }, 0));
    expect(instants).toHaveLength(50);
    expect(instants.at(-1)).toBeLessThan(2 * SECOND);
  });
});

describe('an even timetable', () => {
  it.each([
    ['up', { from: 1, to: 2_000, overMs: 1_000 }, 1_000, 1_001],
    ['down', { from: 2_000, to: 1, overMs: 1_000 }, 1_000, 1_001],
    ['up, shorter than a step of a timer', { from: 1, to: 1_000, overMs: 200 }, 200, 101],
    ['to a standstill', { from: 1_000, to: 0.001, overMs: 1_000 }, 3_000, 501],
    ['up, and then on', { from: 500, to: 1_500, overMs: 2_000 }, 3_000, 3_500],
    ['up, cut off by the end', { from: 0.001, to: 1e6, overMs: 10_000 }, 1_000, 50_001],
  ])('has the integral of a ramp %s', (_which, ramp, durationMs, count) => {
    const warmUpUs = (Math.ceil(ramp.from / 2) * SECOND) / ramp.from;
    const terms = { arrivals: undefined, rate: ramp.to, ramp, durationMs };
    const instants = all(timetableOf(terms, warmUpUs));
    const run = instants.filter((us) => us >= warmUpUs);
    expect(instants.length - run.length).toBe(Math.ceil(ramp.from / 2));
    expect(run).toHaveLength(count);
    // Each comes as soon as the rate has brought it.
    const course = new RateCourse(warmUpUs, ramp.to, ramp);
    run.forEach((us, at) => {
      expectSame(Math.abs(course.tokens(warmUpUs, us) - at) < 1e-6, true, `${at}`);
    });
    expect(checkGuarantee(Float64Array.from(instants), course, 1).held).toBe(true);
    const early = instants.map((us, at) =>
      at === 20 ? us - 0.1 * (us - (instants[19] ?? 0)) : us,
    );
    expect(checkGuarantee(Float64Array.from(early), course, 1).held).toBe(instants.length <= 20);
  });
});

it('a listed timetable has the instants of its list, whatever the rate is', () => {
  const instantsUs = Float64Array.of(0, 5, 5, 1e6);
  const arrivals = { kind: 'listed', name: 'a file', instantsUs } as const;
  const timetable = timetableOf({ arrivals, rate: 1, ramp: undefined, durationMs: 1 }, 0);
  expect(all(timetable)).toEqual([0, 5, 5, 1e6]);
});

const ORIGIN_US = 5e9;
const RUN = { rate: 500, ramp: undefined, warmUpUs: 0, endUs: 1e6 };
const POISSON: Timetable = { kind: 'poisson', seed: 1, ...RUN };

function listed(...instants: number[]): Timetable {
  return { kind: 'listed', instantsUs: Float64Array.from(instants) };
}

function clockAt(us: number): ManualClock {
  return ManualClock.create({ nowMs: (ORIGIN_US + us) / 1_000 });
}

describe('the slots of a timetable', () => {
  it('go to one thread each, at the instants that the timetable has', () => {
    const shared = shareTimetable(POISSON, ORIGIN_US);
    const clock = clockAt(0);
    const threads = [1, 2, 3].map(() => new TimetableSlots(shared, clock));
    const random = randomNumbers(9);
    const taken: number[] = [];
    for (let ended = 0; ended < 10; ) {
      const thread = threads[Math.floor(random() * 2.999)];
      const due = thread?.reserve();
      if (due === undefined) ended += 1;
      else taken.push(due.dueUs);
    }
    const source = instantsOf(POISSON);
    const wanted = Array.from({ length: 500 }, () => ORIGIN_US + (source.next().value ?? 0));
    expect(taken).toEqual(wanted);
  });

  it('are lost if nobody has taken them for a second', () => {
    const clock = clockAt(1.5e6);
    const shared = shareTimetable(listed(0, 5e5, 5e5 + 1, 2e6), ORIGIN_US);
    const slots = new TimetableSlots(shared, clock);
    expect(slots.reserve()).toEqual({ dueUs: ORIGIN_US + 5e5 + 1 });
    clock.advance(10_000);
    expect(slots.reserve()).toBeUndefined();
  });

  it('that are still to be taken are due at the next one at the earliest', () => {
    const shared = shareTimetable(listed(10, 20, 30), ORIGIN_US);
    const [one, other] = [1, 2].map(() => new TimetableSlots(shared, clockAt(0)));
    expect(one?.nextUs()).toBe(ORIGIN_US + 10);
    other?.reserve();
    other?.reserve();
    expect(one?.nextUs()).toBe(ORIGIN_US + 30);
    expect(one?.reserve()).toEqual({ dueUs: ORIGIN_US + 30 });
    expect(other?.nextUs()).toBe(Number.POSITIVE_INFINITY);
    expect(other?.reserve()).toBeUndefined();
  });

  it('bound what a pacer on them still issues, though they are long past', () => {
    const shared = shareTimetable(listed(10, 20, 500_000), ORIGIN_US);
    const clock = clockAt(900_000);
    const issued: number[] = [];
    let isFull = true;
    const pacer = new Pacer({
      bucket: new TimetableSlots(shared, clock),
      outstanding: 2,
      endUs: ORIGIN_US + 1e6,
      isIdle: () => false,
      isFull: () => isFull,
      onDue: (dueUs) => issued.push(dueUs - ORIGIN_US),
      onEnd: () => undefined,
    });
    pacer.start();
    expect(pacer.earliestUs).toBe(ORIGIN_US + 10);
    isFull = false;
    pacer.start();
    expect([issued, pacer.earliestUs]).toEqual([[], ORIGIN_US + 10]);
    pacer.start();
    expect([issued, pacer.earliestUs]).toEqual([[10, 20], ORIGIN_US + 500_000]);
    pacer.start();
    expect(issued).toEqual([10, 20, 500_000]);
    expect(pacer.earliestUs).toBe(Number.POSITIVE_INFINITY);
    pacer.stop(0);
    clock.advance(1_000);
    pacer.start();
  });
});

describe('the check of a timetable', () => {
  const check = (timetable: Timetable, startUs = ORIGIN_US) =>
    new TimetableCheck({ timetable, originUs: ORIGIN_US }, startUs);
  const at = (...us: number[]) => Float64Array.from(us, (one) => ORIGIN_US + one);

  it('finds every admission in it, however many slots were lost', () => {
    const checked = check(listed(0, 5, 5, 7, 9, 10, 11));
    checked.add(at(0, 5));
    checked.add(at(5, 9));
    expect(checked.verdict).toMatchObject({ held: true, scheduled: { admitted: 4, strays: 0 } });
    expect(checked.countUntil(ORIGIN_US + 10)).toBe(5);
    expect(checked.countUntil(ORIGIN_US + 10.5)).toBe(6);
  });

  it.each([
    ['at an instant that it does not have', [0, 4]],
    ['one more often than it is there', [0, 5, 5, 5]],
    ['after its end', [0, 5, 5, 10]],
  ])('finds a request %s', (_which, admitted) => {
    const checked = check(listed(0, 5, 5));
    checked.add(at(...admitted));
    expect(checked.verdict).toMatchObject({ held: false, scheduled: { strays: 1 } });
  });

  it('counts no slot of the warm-up', () => {
    const checked = check(listed(0, 5, 7), ORIGIN_US + 5);
    checked.add(at(0, 5, 7));
    expect(checked.countUntil(ORIGIN_US + 100)).toBe(2);
  });
});

describe('planArrivals', () => {
  it.each([
    [2_000, 1, 100],
    [2_000, 50, 100],
    [1, 1, 100],
    [0.001, 1, 100],
    [999.7, 3, 130],
    [1e6, 1, 100],
  ])(
    'at %d/s and burst %d, opens in %d ms with one token, then keeps the rate',
    (rate, burst, leadMs) => {
      const { bucket, startUs } = planArrivals(rate, burst, leadMs);
      // The time since it was opened is between these two readings.
      const beforeUs = bucket.clock.now();
      expect(startUs - beforeUs).toBeLessThanOrEqual(leadMs * 1_000);
      for (let slot = 0; slot < 20; slot += 1) {
        const atUs = bucket.reserve()?.atUs ?? Number.NaN;
        // These reservations are ahead of time unless the machine stalled for all of the lead.
        if (bucket.clock.now() < startUs) {
          expect(Math.abs(atUs - (startUs + (slot * 1e6) / rate))).toBeLessThan(0.01);
        }
      }
    },
  );
});
