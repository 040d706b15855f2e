/** A shared word that sleepers watch. It goes off when the word differs from `value`. */
export interface Alarm {
  readonly words: Int32Array<SharedArrayBuffer>;
  /** Index in `words`. */
  readonly at: number;
  readonly value: number;
  /** Check the word again after this many milliseconds: a wake-up may be missed. */
  readonly lookMs?: number;
}

/** Whether an alarm has gone off; false for undefined. */
export function isOff(alarm: Alarm | undefined): boolean {
  return alarm !== undefined && Atomics.load(alarm.words, alarm.at) !== alarm.value;
}
