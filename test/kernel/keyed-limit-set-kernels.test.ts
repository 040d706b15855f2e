import { describe, expect, test, vi } from 'vitest';
import { Region } from '../../src/index.ts';
import { LATER, type Receipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import { FREE, type WhenFull } from '../../src/kernel/constants.ts';
import { createLimitSetCell, openLimitSetCell } from '../../src/kernel/limit-set/cell.ts';
import { type HostedKeyedLimitSet, openKeyedLimitSet } from '../../src/kernel/limit-set/host.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import {
  ENTRY,
  freeListAt,
  freePlaces,
  KEYED,
  KEYED_RECORD,
  keyedRecordsAt,
  SET_LIMIT,
  SET_SLOT,
  setSlotBytes,
  setSlotCount,
  setSlotsAt,
} from '../../src/memory/layout.ts';
import { slotsOf } from '../support/cell.ts';
import { Random, SEED } from '../support/random.ts';

const PLACES = freePlaces(1);
const LIMITS: readonly Schedule[] = [continuous(1, 3), continuous(2, 4)];
const COUNT = LIMITS.length;
const DAMAGED = expect.objectContaining({ name: 'HandleError', code: 'ERR_REGION_DAMAGED' });
const BUSY = expect.objectContaining({ name: 'RateLimitError', code: 'ERR_BUCKET_BUSY' });

/** A table in a region of its own. */
function createTable(capacity: number, whenFull: WhenFull = 'refuse') {
  return createLimitSetCell({
    ...{ schedules: LIMITS, nowUs: 0, capacity, whenFull, stats: true },
    region: Region.create({ bytes: 2 ** 17 }),
  });
}

describe.each(['atomics', 'wasm'] as const)('with the %s kernel', (name) => {
  test('slots go from entry to thread and back, and none is lost', () => {
    const place = createTable(4);
    const { region, offset } = place;
    const kernels = Array.from({ length: 3 }, () => openKeyedLimitSet(place, () => 0, name));
    const random = new Random(SEED);
    for (let call = 0; call < 500; call++) {
      const kernel = kernels[random.below(3)] as HostedKeyedLimitSet; // one of three
      kernel.seek(random.below(20), random.below(20));
      kernel.acquire(call * 1e5, 1, 0);
    }
    const { free, named } = slotsOf(region, { handle: { offset } });
    expect(free).toHaveLength(PLACES - 3);
    expect(new Set([...free, ...named]).size).toBe(PLACES - 3 + 9);
  });

  test('threads beyond the kept places share the others, and a free list without slots is an error', () => {
    const place = createTable(4);
    const list = (place.offset + freeListAt(8, COUNT)) >> 3;
    const { i64 } = place.region;
    // All places but the last belong to threads that were terminated.
    i64.fill(0n, list, list + PLACES - 1);
    const kernels = [0, 1].map(() => openKeyedLimitSet(place, () => 0, name));
    for (let i = 0; i < 3; i++) {
      for (const kernel of kernels) {
        kernel.seek(1, 1);
        expect(kernel.balance(0)).toBe(3 - i);
        if (kernel === kernels[1]) expect(kernel.acquire(0, 1, 0)).toBe(0);
      }
    }
    i64[list + PLACES - 1] = 0n;
    // No thread holds any, so none can be recovered.
    vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
    const { named } = slotsOf(place.region, { handle: place });
    for (let slot = 0; slot < setSlotCount(8); slot++) {
      const holding = place.offset + setSlotsAt(8, COUNT) + slot * setSlotBytes(8, COUNT);
      if (!named.includes(slot)) i64[holding >> 3] = 0n;
    }
    for (const kernel of kernels) {
      kernel.seek(1, 1);
      expect(() => kernel.acquire(0, 1, 0)).toThrow(BUSY);
      expect(() => kernel.charge(0, 1)).toThrow(BUSY);
      expect(() => kernel.block(0, 1)).toThrow(BUSY);
      expect(() => kernel.decide(0, 1)).toThrow(BUSY);
      expect(() => kernel.drain(0, 1)).toThrow(BUSY);
      expect(() => kernel.returnTokens(0, 1)).toThrow(BUSY);
      expect(() => kernel.reset(0)).toThrow(BUSY);
      expect(() => kernel.balance(0)).toThrow(BUSY);
      expect(() => kernel.timeUntil(0, 1)).toThrow(BUSY);
    }
  });

  test('a state can name the last slot of a table with a power of two of them, and one more', () => {
    const entries = 256;
    const place = createTable(entries / 2);
    const list = (place.offset + freeListAt(entries, COUNT)) >> 3;
    const last = setSlotCount(entries) - 1;
    expect(last).toBe(512);
    // The only slot that is left.
    place.region.i64.fill(0n, list, list + PLACES - 1);
    const kernel = openKeyedLimitSet(place, () => 0, name);
    kernel.seek(1, 1);
    for (let left = 3; left > 0; left--) {
      expect(kernel.balance(0)).toBe(left);
      expect(kernel.acquire(0, 1, 0)).toBe(0);
    }
    expect(kernel.acquire(0, 1, 0)).toBe(LATER);
  });

  test('an entry that names no slot is an error, and nothing outside is touched', () => {
    for (const whenFull of ['share', 'refuse'] as const) {
      const place = createTable(1, whenFull);
      const { i64 } = place.region;
      const kernel = openKeyedLimitSet(place, () => 0, name);
      kernel.seek(1, 1);
      kernel.acquire(0, 1, 0);
      const { entry } = kernel.receipt() as Receipt & { entry: number };
      // All bits of the slot.
      i64[entry + ENTRY.state] = (i64[entry + ENTRY.state] ?? 0n) | (0x1ffn << 3n);
      const before = i64.slice();
      expect(() => kernel.acquire(0, 1, 0)).toThrow(DAMAGED);
      expect(() => kernel.drain(0, 1)).toThrow(DAMAGED);
      expect(() => kernel.returnTokens(0, 1)).toThrow(DAMAGED);
      expect(() => kernel.balance(0)).toThrow(DAMAGED);
      expect(() => kernel.timeUntil(0, 1)).toThrow(DAMAGED);
      expect(() => kernel.decide(0, 0)).toThrow(DAMAGED);
      expect(i64.slice()).toEqual(before);
    }
  });

  test('a free entry that names no slot is an error, and is not given out', () => {
    const place = createTable(1);
    const { i64 } = place.region;
    const kernel = openKeyedLimitSet(place, () => 0, name);
    kernel.seek(1, 1);
    for (const entry of [0, 1]) {
      const at = ((place.offset + KEYED.table) >> 3) + ENTRY.step * entry;
      i64[at + ENTRY.state] = (0x1ffn << 3n) | FREE;
    }
    expect(() => kernel.acquire(0, 1, 0)).toThrow(DAMAGED);
    expect(kernel.balance(0)).toBe(3);
    expect(kernel.stats(0).entries).toBe(0);
  });

  test('limits that make no sense are an error', () => {
    const place = createTable(1);
    const limit = place.offset + keyedRecordsAt(2) + KEYED_RECORD.limits;
    const kernel = openKeyedLimitSet(place, () => 0, name);
    kernel.seek(1, 1);
    kernel.acquire(0, 1, 0);
    const { region, offset } = place;
    // A live word of another version lets every call read the record again.
    region.i32[(offset + KEYED.live) >> 2] = 16;
    region.f64[(limit + SET_LIMIT.burst) >> 3] = Number.NaN;
    expect(() => kernel.acquire(0, 1, 0)).toThrow(DAMAGED);
    expect(() => kernel.balance(0)).toThrow(DAMAGED);
    const nonce = nonceOf(place);
    const open = () => openLimitSetCell(region, offset, 'keyed-limit-set', nonce);
    expect(open).toThrow(DAMAGED);
    region.i32[(offset + KEYED.limitCount) >> 2] = 9;
    expect(open).toThrow(DAMAGED);
  });

  test('the slot of an entry holds a zero-time for each limit', () => {
    const place = createTable(1);
    const kernel = openKeyedLimitSet(place, () => 0, name);
    kernel.seek(1, 1);
    expect(kernel.acquire(5e6, 1, 0)).toBe(0);
    const slot = (place.offset + setSlotsAt(2, COUNT) + 3 * setSlotBytes(2, COUNT)) >> 3;
    const zeroTimes = place.region.i64.slice(slot + (SET_SLOT.zeroTimes >> 3)).slice(0, COUNT);
    const zeroUs = [...zeroTimes].map(
      (ticks, i) => Number(ticks) / (LIMITS[i]?.ticksPerMicro ?? 0),
    );
    expect(zeroUs).toEqual([5e6 - 2e6, 5e6 - 1.5e6]);
  });
});
