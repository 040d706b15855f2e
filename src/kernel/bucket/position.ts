import type { DueInstant, Place, Receipt, WordPromise, WordReceipt } from './kernel.ts';

/** The kernel's answers about an admission. */
interface Promising {
  promise(): WordPromise;
  due(promise: WordPromise): DueInstant;
  cancelMoved(promise: WordPromise, receipt: WordReceipt): boolean;
}

/**
 * A reservation's place in the bucket's queue. Changes of the limit and returned tokens move its
 * instant, but never its place.
 */
export class Position implements Place {
  readonly #kernel: Promising;
  readonly #promise: WordPromise;
  #generation: number;
  #dueUs: number;
  /** Whether it was due when a record went live; nothing can move it any more. */
  #isPast = false;

  /** For the kernel's last admission; `dueUs` is the promised instant. */
  constructor(kernel: Promising, dueUs: number) {
    this.#kernel = kernel;
    this.#promise = kernel.promise();
    this.#generation = this.#promise.generation;
    this.#dueUs = dueUs;
  }

  /** The instant, in microseconds, at which the tokens are due; Infinity while none arrive. */
  dueUs(): number {
    if (this.#isPast) return this.#dueUs;
    const { dueUs, generation, sinceUs } = this.#kernel.due(this.#promise);
    if (generation === this.#generation) return this.#dueUs;
    this.#generation = generation;
    this.#isPast = dueUs <= sinceUs;
    this.#dueUs = this.#isPast ? Math.min(this.#dueUs, sinceUs) : dueUs;
    return this.#dueUs;
  }

  /** Cancels the reservation if only returned tokens have moved the bucket since. */
  cancel(receipt: Receipt): boolean {
    return this.#kernel.cancelMoved(this.#promise, receipt as WordReceipt); // it issues no others
  }
}
