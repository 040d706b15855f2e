import { describe, expect, it } from 'vitest';
import { randomNumbers } from '../../src/load/plan/random.ts';
import {
  instantsOf,
  shareTimetable,
  type Timetable,
  TimetableCheck,
  TimetableSlots,
} from '../../src/load/plan/timetable.ts';
import { Pacer } from '../../src/load/send/pacer.ts';
import { ManualClock } from '../../src/time/manual-clock.ts';

const ORIGIN_US = 5e9;
const RUN = { lengthUs: 1e6, from: 500, to: 500 };
const POISSON: Timetable = { kind: 'poisson', seed: 1, parts: [[RUN]] };

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
