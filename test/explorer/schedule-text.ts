import { STOPS } from './turns.ts';

/**
 * A schedule as text: threads are numbered from 0, `1*3` means three steps of thread 1, and `1!`
 * that it is stopped forever before its next step.
 */
export function scheduleText(schedule: readonly number[]): string {
  const runs: { turn: number; times: number }[] = [];
  for (const turn of schedule) {
    const last = runs.at(-1);
    if (last?.turn === turn) last.times++;
    else runs.push({ turn, times: 1 });
  }
  return runs
    .map(({ turn, times }) => (turn >= STOPS ? `${turn - STOPS}!` : `${turn}*${times}`))
    .join(' ');
}

/** Parses the output of {@link scheduleText}. */
export function parseSchedule(text: string): number[] {
  return text.split(' ').flatMap((part) => {
    const [, thread, times] = /^(\d)(?:!|\*(\d+))$/.exec(part) ?? [];
    if (thread === undefined) throw new Error(`${part} is no part of a schedule`);
    if (times === undefined) return [Number(thread) + STOPS];
    return new Array<number>(Number(times)).fill(Number(thread));
  });
}
