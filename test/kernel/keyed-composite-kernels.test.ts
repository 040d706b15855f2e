import { describe, expect, test } from 'vitest';
import { bytesOf } from '../../src/kernel/binary-text.ts';
import { LATER, type Receipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import { composites } from '../../src/kernel/build/modules.ts';
import { FREE } from '../../src/kernel/constants.ts';
import { openKeyedCell } from '../../src/kernel/keyed/cell.ts';
import { type HostedKeyedComposite, openKeyedComposite } from '../../src/kernel/keyed/composite.ts';
import { type Limits, tableLimits } from '../../src/kernel/keyed/limits.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import type { LimiterHandle } from '../../src/memory/handle.ts';
import {
  ENTRY,
  KEYED,
  KEYED_SLOT,
  keyedRackAt,
  keyedSlotBytes,
  keyedSlotCount,
  keyedSlotsAt,
  RACK_PLACES,
} from '../../src/memory/layout.ts';
import { keyedSlotsOf } from '../support/cell.ts';
import { Random, SEED } from '../support/random.ts';
import { createTable, unnamed } from './keyed-composite-table.ts';

test('the module is smaller than 12 KiB', () => {
  expect(bytesOf(composites.wasm()).length).toBeLessThan(12 * 1024);
});

const LIMITS: Limits<Schedule> = [continuous(1, 3), continuous(2, 4)];
const COUNT = LIMITS.length;
const DAMAGED = expect.objectContaining({ name: 'HandleError', code: 'ERR_REGION_DAMAGED' });
const BUSY = expect.objectContaining({ name: 'RateLimitError', code: 'ERR_BUCKET_BUSY' });

describe.each(['atomics', 'wasm'] as const)('with the %s kernel', (name) => {
  test('slots go from entry to thread and back, and none is lost', () => {
    const place = createTable(LIMITS, 4);
    const { region, offset } = place;
    const kernels = Array.from({ length: 3 }, () => openKeyedComposite(place, () => 0, name));
    const random = new Random(SEED);
    for (let call = 0; call < 500; call++) {
      const kernel = kernels[random.below(3)] as HostedKeyedComposite; // one of three
      kernel.seek(random.below(20), random.below(20));
      kernel.acquire(call * 1e5, 1, 0);
    }
    const handle = { zerotime: 'keyed-token-bucket', offset } as LimiterHandle; // what is read of it
    const { free, named } = keyedSlotsOf(region, { handle });
    expect(free).toHaveLength(RACK_PLACES - 3);
    expect(new Set([...free, ...named]).size).toBe(RACK_PLACES - 3 + 9);
  });

  test('threads beyond the kept places share the others, and a rack without slots is an error', () => {
    const place = createTable(LIMITS, 4);
    const rack = (place.offset + keyedRackAt(8, COUNT)) >> 3;
    const { i64 } = place.region;
    // All places but the last belong to threads that were terminated.
    i64.fill(0n, rack, rack + RACK_PLACES - 1);
    const kernels = [0, 1].map(() => openKeyedComposite(place, () => 0, name));
    for (let i = 0; i < 3; i++) {
      for (const kernel of kernels) {
        kernel.seek(1, 1);
        expect(kernel.balance(0)).toBe(3 - i);
        if (kernel === kernels[1]) expect(kernel.acquire(0, 1, 0)).toBe(0);
      }
    }
    i64[rack + RACK_PLACES - 1] = 0n;
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
    const place = createTable(LIMITS, entries / 2);
    const rack = (place.offset + keyedRackAt(entries, COUNT)) >> 3;
    const last = keyedSlotCount(entries) - 1;
    expect(last).toBe(512);
    // The only slot that is left.
    place.region.i64.fill(0n, rack, rack + RACK_PLACES - 1);
    const kernel = openKeyedComposite(place, () => 0, name);
    kernel.seek(1, 1);
    for (let left = 3; left > 0; left--) {
      expect(kernel.balance(0)).toBe(left);
      expect(kernel.acquire(0, 1, 0)).toBe(0);
    }
    expect(kernel.acquire(0, 1, 0)).toBe(LATER);
  });

  test('an entry that names no slot is an error, and nothing outside is touched', () => {
    for (const whenFull of ['share', 'refuse'] as const) {
      const place = createTable(LIMITS, 1, whenFull);
      const { i64 } = place.region;
      const kernel = openKeyedComposite(place, () => 0, name);
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
    const place = createTable(LIMITS, 1);
    const { i64 } = place.region;
    const kernel = openKeyedComposite(place, () => 0, name);
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
    const place = createTable(LIMITS, 1);
    const records = place.offset + KEYED.table + 64;
    const kernel = openKeyedComposite(place, () => 0, name);
    kernel.seek(1, 1);
    kernel.acquire(0, 1, 0);
    const { region, offset } = place;
    // A live word of another version lets every call read the record again.
    region.i32[(offset + KEYED.live) >> 2] = 16;
    region.f64[(records + 32 + 32 + 8) >> 3] = Number.NaN;
    expect(() => kernel.acquire(0, 1, 0)).toThrow(DAMAGED);
    expect(() => kernel.balance(0)).toThrow(DAMAGED);
    const nonce = nonceOf(place);
    const open = () => openKeyedCell(region, offset, 'keyed-token-bucket', nonce);
    expect(open).toThrow(DAMAGED);
    region.i32[(offset + KEYED.limitsPerKey) >> 2] = 3;
    expect(open).toThrow(DAMAGED);
  });

  test('the slot of an entry holds a zero-time for each limit', () => {
    const place = createTable(LIMITS, 1);
    const kernel = openKeyedComposite(place, () => 0, name);
    kernel.seek(1, 1);
    expect(kernel.acquire(5e6, 1, 0)).toBe(0);
    const slot = (place.offset + keyedSlotsAt(2, COUNT) + 3 * keyedSlotBytes(COUNT)) >> 3;
    const zeroTimes = place.region.i64.slice(slot + (KEYED_SLOT.zeroTimes >> 3)).slice(0, COUNT);
    const { ticksPerMicro } = tableLimits(LIMITS, unnamed);
    const zeroUs = [...zeroTimes].map((ticks) => Number(ticks) / ticksPerMicro);
    expect(zeroUs).toEqual([5e6 - 2e6, 5e6 - 1.5e6]);
  });
});
