/** Admission instants in microseconds, in the order in which one thread handled them. */
export class AdmissionLog {
  #instants = new Float64Array(256);
  #count = 0;

  append(instantUs: number): void {
    if (this.#count === this.#instants.length) {
      const larger = new Float64Array(this.#instants.length * 2);
      larger.set(this.#instants);
      this.#instants = larger;
    }
    this.#instants[this.#count] = instantUs;
    this.#count += 1;
  }

  /** The entries appended since the last call, copied to an array that can be transferred. */
  take(): Float64Array<ArrayBuffer> {
    const taken = this.#instants.slice(0, this.#count);
    this.#count = 0;
    return taken;
  }
}

/** Merges the logs of several threads in ascending order. */
export function mergeAdmissions(logs: readonly Float64Array[]): Float64Array {
  const merged = new Float64Array(logs.reduce((sum, log) => sum + log.length, 0));
  let offset = 0;
  for (const log of logs) {
    merged.set(log, offset);
    offset += log.length;
  }
  return merged.sort();
}

/** Counts the instants in each slot of `slotUs` between `startUs` and `endUs`. */
export function countPerSlot(
  instants: Float64Array,
  { startUs, endUs, slotUs }: { startUs: number; endUs: number; slotUs: number },
): number[] {
  const slots = Math.max(0, Math.ceil((endUs - startUs) / slotUs));
  const counts = new Array<number>(slots).fill(0);
  for (const instant of instants) {
    const slot = Math.floor((instant - startUs) / slotUs);
    if (slot >= 0 && slot < slots) counts[slot] = (counts[slot] ?? 0) + 1;
  }
  return counts;
}
