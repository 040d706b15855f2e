import { LimitSetReference, type ReferenceLimit } from './limit-set-reference.ts';

/** The reference for a `KeyedLimitSet`: a Map that never forgets. */
export class LimitSetReferences<Key> {
  /** Of a key that was never seen. */
  readonly #fresh: LimitSetReference;
  readonly #sets = new Map<Key, LimitSetReference>();

  constructor(limits: readonly ReferenceLimit[], nowUs: () => number) {
    this.#fresh = LimitSetReference.full(limits, nowUs);
  }

  get burst(): number {
    return this.#fresh.burst;
  }

  of(key: Key): LimitSetReference {
    const known = this.#sets.get(key) ?? this.#fresh.copy();
    this.#sets.set(key, known);
    return known;
  }

  isFull(key: Key): boolean {
    return this.of(key)
      .fullsUs()
      .every((us) => us?.toNumber() === 0);
  }

  /** How many keys are not full under every limit. */
  notFull(): number {
    return [...this.#sets.keys()].filter((key) => !this.isFull(key)).length;
  }

  reconfigure(limits: readonly ReferenceLimit[]): void {
    for (const set of [this.#fresh, ...this.#sets.values()]) set.reconfigure(limits);
  }
}
