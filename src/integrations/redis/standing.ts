import type { LATER, NEVER } from '../../kernel/bucket/kernel.ts';
import { ticksAt } from '../../kernel/bucket/record.ts';
import type { Schedule } from '../../kernel/bucket/schedule.ts';
import { less, plus, readTicks, type Ticks } from './ticks.ts';

/** What an operation came to: 0 for done, LATER or NEVER. */
export type Result = 0 | typeof LATER | typeof NEVER;

/** The state of a bucket on the server. */
export interface Standing {
  readonly schedule: Schedule;
  readonly originUs: number;
  /** The server's time, adjusted so that it never runs backwards. */
  readonly nowUs: number;
  /** In ticks since the origin. */
  readonly zeroTime: Ticks;
  /** Counts limit changes and renewals of the origin. */
  readonly generation: number;
}

/** Reads the state from an answer of the script. */
export function readStanding(schedule: Schedule, answer: readonly unknown[]): Standing {
  const [, , nowUs, originUs, zeroTime, generation] = answer;
  return {
    schedule,
    nowUs: Number(nowUs),
    originUs: Number(originUs),
    zeroTime: readTicks(zeroTime),
    generation: Number(generation),
  };
}

/** The state after a take of this number of ticks. */
export function afterTake(standing: Standing, cost: Ticks): Standing {
  if (cost === 0) return standing;
  const { schedule, originUs, nowUs, zeroTime } = standing;
  const full = plus(ticksAt(schedule, originUs, nowUs), -schedule.capTicks);
  const from = zeroTime < full ? full : zeroTime;
  return { ...standing, zeroTime: plus(from, cost) };
}

/** The balance in ticks; negative in debt. */
export function heldTicks({ schedule, originUs, nowUs, zeroTime }: Standing): number {
  const held = less(ticksAt(schedule, originUs, nowUs), zeroTime);
  return Math.min(held, Number(schedule.capTicks));
}

/** Microseconds until the bucket is out of debt. */
export function debtUs(standing: Standing): number {
  const { schedule, originUs, nowUs } = standing;
  const { fillTicks, ticksPerMicro } = schedule;
  const due = 0 - heldTicks(standing);
  if (due <= 0) return 0;
  if (fillTicks === 0) return due / ticksPerMicro;
  const ticks = Math.round((nowUs - originUs) * ticksPerMicro);
  const sinceFill = ticks - Math.floor(ticks / fillTicks) * fillTicks;
  return (Math.ceil(due / fillTicks) * fillTicks - sinceFill) / ticksPerMicro;
}
