/** The instants in microseconds at which one thread's requests came due, in the order handled. */
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

  /** Removes and returns the entries as a transferable array. */
  take(): Float64Array<ArrayBuffer> {
    const taken = this.#instants.slice(0, this.#count);
    this.#count = 0;
    return taken;
  }
}
