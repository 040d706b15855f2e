import { describe, expect, test } from 'vitest';
import { Region } from '../../src/index.ts';
import { bytesOf } from '../../src/kernel/binary-text.ts';
import { LATER, type Receipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import { composites } from '../../src/kernel/build/modules.ts';
import { FREE, type WhenFull } from '../../src/kernel/constants.ts';
import { createKeyedCell, openKeyedCell } from '../../src/kernel/keyed/cell.ts';
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
  SEED_BYTES,
} from '../../src/memory/layout.ts';
import { keyedSlotsOf } from '../support/cell.ts';
import { Random, SEED, SHARE } from '../support/random.ts';
import { Twins } from '../support/twins.ts';

const CALLS = 200_000 * SHARE;
const CALLS_OF_A_TABLE = 1_000;

/** Errors need not name the limit. */
const at = <T>(_: number, make: () => T): T => make();

function randomLimit(random: Random): Schedule {
  const rate = random.pick([1, 1000, Number.POSITIVE_INFINITY, random.logarithmic(1e-3, 1e6)]);
  return continuous(rate, random.pick([1, 5, 0.5, 1000, random.logarithmic(0.1, 1000)]));
}

function randomLimits(random: Random): Limits<Schedule> {
  const others = Array.from({ length: 1 + random.below(7) }, () => randomLimit(random));
  return [randomLimit(random), ...others];
}

function createTable(
  schedules: Limits<Schedule>,
  capacity: number,
  whenFull: WhenFull = 'refuse',
  nowUs = 0,
  plain = false,
) {
  return createKeyedCell({
    ...{ kind: 'keyed-token-bucket', schedule: schedules[0], limitsPerKey: schedules.length },
    ...{ limits: tableLimits(schedules, at), nowUs, capacity, whenFull, stats: true },
    region: Region.create({ bytes: 2 ** 17, plain }),
  });
}

/** The limits at other rates, or with other bursts. */
function changed(random: Random, schedules: Limits<Schedule>): Limits<Schedule> {
  const factor = random.pick([0.5, 2]);
  const isUniform = random.below(2) === 0;
  const next = schedules.map(({ rate, burst }) =>
    continuous(
      rate * (isUniform ? factor : random.pick([1, 1, 2, 3.3])),
      burst * random.pick([1, 2, 0.5]),
    ),
  );
  return next as unknown as Limits<Schedule>; // as many as before
}

test(`${CALLS} random calls get the same answers, and leave the same table, with both kernels (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let calls = 0; calls < CALLS; calls += CALLS_OF_A_TABLE) {
    const capacity = random.pick([1, 4, 20, 32, 40]);
    const schedules = randomLimits(random);
    const whenFull = random.pick<WhenFull>(['share', 'refuse', 'admit']);
    let nowUs = random.pick([0, 1e9, random.logarithmic(1, 1e15)]);
    const startUs = nowUs;
    const make = (plain: boolean) => {
      const place = createTable(schedules, capacity, whenFull, startUs, plain);
      new Uint8Array(place.region.buffer, place.offset + KEYED.seed, SEED_BYTES).fill(0);
      return place;
    };
    const twins = new Twins<HostedKeyedComposite>(make, (place, kernel) =>
      openKeyedComposite(place, () => nowUs, kernel),
    );
    const receipts: [Receipt, Receipt][] = [];
    const keys = Array.from(
      { length: capacity * 3 },
      // Some keys have half of the fingerprint, or one home, in common.
      () =>
        [
          random.pick([random.bits(), 7, 0xffff_0000]),
          random.pick([random.bits(), (random.bits() & 0xfff0_0003) >>> 0, 5]),
        ] as const,
    );
    const usualUs = 1e6 / Math.min(1e6, schedules[0].rate) / capacity;
    const step = () => {
      nowUs += random.pick([0, 0, usualUs, random.logarithmic(0.01, 10)]);
      if (random.below(100) === 0) nowUs -= random.logarithmic(1, 1e9);
      if (random.below(400) === 0) nowUs += random.logarithmic(1e9, 1e13);
      const [high, low] = keys[random.below(keys.length)] ?? [0, 0];
      const n = random.pick([0, 1, 1, 2, 5, random.logarithmic(0.01, 1000)]);
      const maxWaitUs = random.pick([0, 0, Number.POSITIVE_INFINITY, random.logarithmic(1, 1e9)]);
      for (const kernel of twins.kernels) kernel.seek(high, low);
      switch (random.below(16)) {
        case 0:
          return twins.both('drain', (kernel) => kernel.drain(nowUs, n));
        case 1:
          return twins.both('return', (kernel) => kernel.returnTokens(nowUs, n));
        case 2:
          return twins.both('balance', (kernel) => kernel.balance(nowUs));
        case 3:
          return twins.both('timeUntil', (kernel) => kernel.timeUntil(nowUs, n));
        case 4:
          return twins.both('decide', (kernel) => kernel.decide(nowUs, n));
        case 5: {
          const last = receipts.splice(-1 - random.below(2))[0];
          return last && twins.both('cancel', (kernel, twin) => kernel.cancel(last[twin]));
        }
        case 6:
          return twins.both('charge', (kernel) => kernel.charge(nowUs, n));
        case 7:
          return twins.both('block', (kernel) => kernel.block(nowUs, 1e6 * n));
        case 8:
          return random.below(4) === 0
            ? twins.both('reset', (kernel) => kernel.reset(nowUs))
            : undefined;
        case 9: {
          const last = receipts.at(-1);
          return last && twins.both('dueUs', (kernel, twin) => kernel.dueUs(last[twin]));
        }
        case 10: {
          if (random.below(10) > 0) return undefined;
          const before = twins.kernels[0].schedules();
          try {
            const next = changed(random, before);
            tableLimits(next, at);
            return twins.both('change', (kernel) => kernel.reconfigure(nowUs, () => next, at));
          } catch (error) {
            if (error instanceof RangeError) return undefined; // too large a burst for the clock
            throw error;
          }
        }
        default: {
          const wait = twins.both('acquire', (kernel) => kernel.acquire(nowUs, n, maxWaitUs));
          if (typeof wait !== 'number' || wait < 0) return undefined;
          const [ours, theirs] = twins.kernels;
          return receipts.push([ours.receipt(), theirs.receipt()]);
        }
      }
    };
    for (let call = 0; call < CALLS_OF_A_TABLE; call++) {
      step();
      twins.compareMemory();
    }
    twins.both('stats', (kernel) => kernel.stats(nowUs));
  }
});

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
    const { ticksPerMicro } = tableLimits(LIMITS, at);
    const zeroUs = [...zeroTimes].map((ticks) => Number(ticks) / ticksPerMicro);
    expect(zeroUs).toEqual([5e6 - 2e6, 5e6 - 1.5e6]);
  });
});
