import { expect, it } from 'vitest';
import { ManualClock, Region, SlidingWindow } from '../../src/index.ts';
import { CELL, INDEX_BITS, windowBytes } from '../../src/memory/layout.ts';
import { Random, SEED } from '../support/random.ts';

/** Not a power of two, and the ring ends where the cell does. */
const SLOTS = 24;
/** Most have numbers of slots with more bits than a double. */
const WORDS = 500;

it.each(['wasm', 'atomics'] as const)(
  `a sliding window whose word is damaged changes no memory but its own, with kernel %s (ZEROTIME_SEED=${SEED})`,
  (kernel) => {
    const random = new Random(SEED);
    const region = Region.create({ bytes: 8192 });
    const clock = ManualClock.create();
    const limit = { limit: 1, intervalMs: SLOTS, slots: SLOTS, clock, region, kernel } as const;
    const { handle } = SlidingWindow.create(limit);
    const { memory, offset } = handle;
    const buffer = 'buffer' in memory ? memory.buffer : memory;
    const bytes = new Uint8Array(buffer);
    const words = new BigInt64Array(buffer);
    const end = offset + windowBytes(SLOTS);
    const window = SlidingWindow.attach(handle);
    const after = bytes.slice(end);
    const before = bytes.slice(0, offset);
    for (let i = 0; i < WORDS; i++) {
      const number = (BigInt(random.bits()) << 32n) | BigInt(random.bits());
      // The lowest bits name the record, which is not damaged.
      words[(offset + CELL.word) >> 3] = (number >> BigInt(INDEX_BITS)) << BigInt(INDEX_BITS);
      clock.advance(1);
      window.tryConsume();
      window.available();
      window.timeUntil(1);
    }
    expect(bytes.slice(end)).toEqual(after);
    expect(bytes.slice(0, offset)).toEqual(before);
  },
);
