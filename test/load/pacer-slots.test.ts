import { expect, it, onTestFinished, vi } from 'vitest';
import { shareTimetable, TimetableSlots } from '../../src/load/plan/timetable.ts';
import { Pacer } from '../../src/load/send/pacer.ts';
import { ManualClock } from '../../src/time/manual-clock.ts';

it('sleeps to the end once all slots of a timetable are taken', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
  onTestFinished(() => void vi.useRealTimers());
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
