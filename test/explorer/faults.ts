import {
  BUCKET_BYTES,
  DIGEST_BYTES,
  INDEX_BITS,
  RECORD_COUNT,
  REGION_HEADER_BYTES,
  SLOT,
  SLOT_MASK,
  slotBytes,
} from '../../src/memory/layout.ts';

/** Accesses to 64-bit words, by byte offset. */
export interface Words {
  load64(at: number): bigint;
  /** Returns the previous value. */
  exchange64(at: number, expected: bigint, next: bigint): bigint;
  store64(at: number, value: bigint): void;
}

/** A tick in the word of a bucket, and in the state of a key's bucket. */
const TICK = 8n;

/** Of the explored composite bucket. */
const LIMITS = 2;
const SLOTS_AT = REGION_HEADER_BYTES + LIMITS * (BUCKET_BYTES + RECORD_COUNT * DIGEST_BYTES);

/** Faulty accesses. The explorer must find each of them, in both targets. */
const FAULTS = {
  /** A compare-and-exchange is a load and a store. */
  torn: ({ load64, store64 }: Words): Pick<Words, 'exchange64'> => ({
    exchange64(at, expected, next) {
      const seen = load64(at);
      if (seen === expected) store64(at, next);
      return seen;
    },
  }),

  /** Two consecutive loads of a word load it once, as if it were kept in a register. */
  stale({ load64, exchange64 }: Words): Partial<Words> {
    let known: { readonly at: number; readonly word: bigint } | undefined;
    return {
      load64(at) {
        const kept = known?.at === at ? known.word : undefined;
        const word = kept ?? load64(at);
        known = kept === undefined ? { at, word } : undefined;
        return word;
      },
      exchange64(at, expected, next) {
        known = undefined;
        return exchange64(at, expected, next);
      },
    };
  },

  /** A composite bucket's slot is free before the exchange that replaces it, not after. */
  freed: ({ store64, exchange64 }: Words): Partial<Words> => ({
    exchange64(at, expected, next) {
      const slot = Number((expected >> BigInt(INDEX_BITS)) & BigInt(SLOT_MASK));
      if (at === REGION_HEADER_BYTES) store64(SLOTS_AT + slot * slotBytes(LIMITS) + SLOT.state, 0n);
      return exchange64(at, expected, next);
    },
  }),

  /** Each exchange that takes tokens takes a tick less. */
  early: ({ exchange64 }: Words): Partial<Words> => ({
    exchange64: (at, expected, next) =>
      exchange64(at, expected, next > expected ? next - TICK : next),
  }),
};
export type Fault = keyof typeof FAULTS;

export function faultyWords(fault: Fault, words: Words): Words {
  return { ...words, ...FAULTS[fault](words) };
}
