import { TAG_BITS } from '../../src/kernel/constants.ts';
import {
  ENTRY,
  freeListAt,
  freePlaces,
  KEYED,
  PLACE_BYTES,
  REGION_HEADER_BYTES,
  SET_SLOT,
  setSlotBytes,
  setSlotCount,
  setSlotsAt,
  WAITERS_AT,
} from '../../src/memory/layout.ts';

/** Accesses to 64-bit words, by byte offset. */
export interface Words {
  load64(at: number): bigint;
  /** Returns the previous value. */
  exchange64(at: number, expected: bigint, next: bigint): bigint;
  store64(at: number, value: bigint): void;
  /** A load that no other operation depends on. */
  peek64(at: number): bigint;
}

/** Above the tag, tier and parity of a key's state: a tick there, 32 in the word of a bucket. */
const TICK = 256n;

/** Of the explored limit set. */
const LIMITS = 2;
const STATE_AT = REGION_HEADER_BYTES + KEYED.table + ENTRY.state * 8;
const LIST_AT = REGION_HEADER_BYTES + freeListAt(0, LIMITS);
const SLOTS_AT = REGION_HEADER_BYTES + setSlotsAt(0, LIMITS);
const SLOT_MASK = 2n ** BigInt(32 - Math.clz32(setSlotCount(0) - 1)) - 1n;

/** The slot that a state of the explored set names. */
function slotOf(state: bigint): number {
  return Number((state >> BigInt(TAG_BITS)) & SLOT_MASK);
}

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

  /** A semaphore's waiter that was loaded once is not loaded again before its next exchange. */
  kept({ load64, exchange64 }: Words): Partial<Words> {
    const known = new Map<number, bigint>();
    return {
      load64(at) {
        const word = known.get(at) ?? load64(at);
        if (at >= REGION_HEADER_BYTES + WAITERS_AT) known.set(at, word);
        return word;
      },
      exchange64(at, expected, next) {
        known.delete(at);
        return exchange64(at, expected, next);
      },
    };
  },

  /** A limit set's slot is free before the exchange that replaces it, too. */
  freed: ({ load64, store64, exchange64 }: Words): Partial<Words> => ({
    exchange64(at, expected, next) {
      if (at === STATE_AT) {
        for (let place = 0; place < freePlaces(0); place++) {
          const from = LIST_AT + place * PLACE_BYTES;
          const word = load64(from);
          if (BigInt.asUintN(32, word) !== 0n) continue;
          store64(from, word + BigInt(slotOf(expected) + 1));
          break;
        }
      }
      return exchange64(at, expected, next);
    },
  }),

  /** A limit set's slot seems to name the live record, whichever it names. */
  unconverted: ({ load64, peek64 }: Words): Partial<Words> => ({
    peek64(at) {
      const word = peek64(at);
      const slot = SLOTS_AT + slotOf(load64(STATE_AT)) * setSlotBytes(0, LIMITS);
      if (at !== slot + SET_SLOT.holding) return word;
      const live = load64(REGION_HEADER_BYTES + KEYED.live);
      return (word & ~0x7fff_ffffn) | (live & 0x7fff_ffffn);
    },
  }),

  /** Each exchange that takes tokens takes a little less. */
  early: ({ exchange64 }: Words): Partial<Words> => ({
    exchange64: (at, expected, next) =>
      exchange64(at, expected, next > expected ? next - TICK : next),
  }),
};
export type Fault = keyof typeof FAULTS;

export function faultyWords(fault: Fault, words: Words): Words {
  return { ...words, ...FAULTS[fault](words) };
}
