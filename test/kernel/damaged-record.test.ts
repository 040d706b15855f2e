import { describe, expect, it } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { RECORD, recordOffset } from '../../src/memory/layout.ts';

const DAMAGED = expect.objectContaining({ name: 'HandleError', code: 'ERR_REGION_DAMAGED' });

/** Overwrites one number of a bucket's live record. */
const DAMAGE: Readonly<Record<string, (memory: DataView, record: number) => void>> = {
  'no generation': (memory, at) => memory.setInt32(at + RECORD.generation, 0, true),
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
