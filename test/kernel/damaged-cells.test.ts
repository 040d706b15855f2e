import { describe, expect, it } from 'vitest';
import { ManualClock, Region, SlidingWindow, TokenBucket } from '../../src/index.ts';
import { CELL, INDEX_BITS, RECORD, recordOffset, windowBytes } from '../../src/memory/layout.ts';
import { Random, SEED } from '../support/random.ts';

const DAMAGED = expect.objectContaining({ name: 'HandleError', code: 'ERR_REGION_DAMAGED' });

/** Overwrites one number of a bucket's live record. */
const DAMAGE: Readonly<Record<string, (memory: DataView, record: number) => void>> = {
  'no epoch': (memory, at) => memory.setInt32(at + RECORD.epoch, 0, true),
  'no pace': (memory, at) => memory.setFloat64(at + RECORD.pace, Number.NaN, true),
  'a burst below zero': (memory, at) => memory.setFloat64(at + RECORD.burst, -1, true),
  'an endless origin': (memory, at) => memory.setFloat64(at + RECORD.originUs, Infinity, true),
  'no origin': (memory, at) => memory.setFloat64(at + RECORD.originUs, Number.NaN, true),
};

describe.each(['wasm', 'atomics'] as const)('a record, with kernel %s,', (kernel) => {
  it.each(Object.entries(DAMAGE))('of %s is an error', (_, damage) => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 5, clock, kernel });
    const { memory, offset } = bucket.handle;
    const buffer = 'buffer' in memory ? memory.buffer : memory;
    damage(new DataView(buffer), recordOffset(offset, 0));
    const other = () => TokenBucket.attach(bucket.handle).tryConsume();
    expect(other).toThrow(DAMAGED);
    expect(() => bucket.reconfigure({ rate: 5 })).toThrow(DAMAGED);
  });
});

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
