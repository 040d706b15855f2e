/** A shared word that sleepers watch: it goes off when it is no longer `value`, and is notified. */
export interface Alarm {
  readonly words: Int32Array<SharedArrayBuffer>;
  /** Index in `words`. */
  readonly at: number;
  readonly value: number;
}

/** Whether an alarm has gone off; one that is not there never does. */
export function isOff(alarm: Alarm | undefined): boolean {
  return alarm !== undefined && Atomics.load(alarm.words, alarm.at) !== alarm.value;
}
