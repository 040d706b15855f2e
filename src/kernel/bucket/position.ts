import type { BucketKernel, BucketPromise, Receipt } from './kernel.ts';

/** The place of reserved tokens in a queue. Changes of the limit move its instant only. */
export interface Place {
  /** The instant, in microseconds, at which the tokens are due; Infinity while none arrive. */
  dueUs(): number;
  /** Cancels the reservation if that is still exact. */
  cancel(receipt: Receipt): boolean;
}

/**
 * A reservation's place in the bucket's queue. Changes of the limit and returned tokens move its
 * instant, but never its place.
 */
export class Position implements Place {
  readonly #kernel: BucketKernel;
  readonly #promise: BucketPromise;
  #generation: number;
  #dueUs: number;
  /** Whether it was due when a record went live; nothing can move it any more. */
  #isPast = false;

  /** For the kernel's last admission; `dueUs` is the promised instant. */
  constructor(kernel: BucketKernel, dueUs: number) {
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
    return this.#kernel.cancelMoved(this.#promise, receipt);
  }
}
