import { describe, expect, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { KeyedLimitSet, LimitSet } from '../../src/index.ts';
import { openLimitSetCell } from '../../src/kernel/limit-set/cell.ts';
import { freeSlots } from '../../src/kernel/limit-set/slots.ts';
import type { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import {
  ENTRY,
  ENTRY_BYTES,
  freePlaces,
  KEYED,
  SET_SLOT,
  setSlotBytes,
  setSlotsAt,
} from '../../src/memory/layout.ts';
import { slotsOf } from '../support/cell.ts';
import { ask, hostPath, hostRegion, startProcess } from '../support/host.ts';
import { replaceExchanges } from '../support/replaced-exchanges.ts';
import { until } from '../support/settled.ts';

const LIMITS = [
  { rate: 1e-6, burst: 100 },
  { rate: 1e-6, burst: 120 },
];
const CAPACITY = 4;
const DEAD = 200;

type AnySet = LimitSet | KeyedLimitSet;

/** A limit set, and a keyed one whose key 'a' is used. */
const KINDS = {
  'limit-set': {
    entries: 0,
    open: (region: Region) => LimitSet.open(region, 'two', { limits: LIMITS, kernel: 'atomics' }),
  },
  'keyed-limit-set': {
    entries: 2 * CAPACITY,
    open: (region: Region) =>
      KeyedLimitSet.open(region, 'keys', { limits: LIMITS, capacity: CAPACITY, kernel: 'atomics' }),
  },
} as const;

function take(set: AnySet): boolean {
  return set instanceof LimitSet ? set.tryConsume() : set.tryConsume('a');
}

function leftIn(set: AnySet): number {
  return Math.round(set instanceof LimitSet ? set.available() : set.available('a'));
}

describe.each(Object.entries(KINDS))('the slots of a %s', (kind, { entries, open }) => {
  const places = freePlaces(entries);

  /** How many slots are free; all slots must be free or named by one entry, but those held. */
  const freeIn = (region: Region, set: AnySet, held: number): number => {
    const { free, named } = slotsOf(region, set);
    expect(new Set([...free, ...named]).size).toBe(places + named.length - held);
    return free.length;
  };

  /** Recovers the slots of a process, as each process does twice a second. */
  const recover = (region: Region, { handle: { offset } }: AnySet, process: number): void => {
    const nonce = nonceOf({ region, offset, bytes: 0 });
    const place = openLimitSetCell(region, offset, kind as keyof typeof KINDS, nonce);
    freeSlots(place, process, region.sharing?.process ?? 0);
  };

  /** As if a process had made the slots of all entries live, and then ended. */
  const giveTo = (process: number, region: Region, set: AnySet): void => {
    const slots = set.handle.offset + setSlotsAt(entries, LIMITS.length);
    for (const slot of slotsOf(region, set).named) {
      const at = (slots + slot * setSlotBytes(entries, LIMITS.length) + SET_SLOT.holding) >> 3;
      region.i64[at] = ((region.i64[at] ?? 0n) & ~(0xffn << 32n)) | (BigInt(process) << 32n);
    }
  };

  test('come back from a process that is killed', async () => {
    const region = hostRegion();
    const set = open(region);
    for (let i = 1; i <= 3; i++) {
      take(set);
      expect(freeIn(region, set, 1)).toBe(places - 1);
      const child = await startProcess('host-user');
      const isKeyed = set instanceof KeyedLimitSet;
      const job = isKeyed ? { key: 'a', path: region.path } : { take: set.handle };
      expect(await ask(child, job)).toEqual({ result: isKeyed ? true : 3 });
      expect(freeIn(region, set, 2)).toBe(places - 2);
      child.kill('SIGKILL');
      await until(() => region.processes().length === 1);
      expect(freeIn(region, set, 1)).toBe(places - 1);
      expect(leftIn(set)).toBe(100 - (isKeyed ? 2 : 4) * i);
    }
  });

  test('come back from a process that closes the region, which can go on', () => {
    const region = HostRegion.open({ path: hostPath() });
    const set = open(region);
    take(set);
    region.close();
    expect(freeIn(region, set, 0)).toBe(places);
    expect(take(set)).toBe(true);
    expect(freeIn(region, set, 1)).toBe(places - 1);
    expect(leftIn(set)).toBe(98);
  });

  test('go to recovery or to the thread that takes them, from an entry or a place', () => {
    const region = hostRegion();
    const set = open(region);
    take(set);
    const { offset } = set.handle;
    const states = Array.from(
      { length: entries + 1 },
      (_, i) => ((offset + KEYED.table) >> 3) + ENTRY.step * i + ENTRY.state,
    );
    giveTo(DEAD, region, set);
    let recoveries = 0;
    const spy = replaceExchanges<bigint>((exchange, { words, at, expected }) => {
      const seen = exchange();
      if (words instanceof BigInt64Array && states.includes(at) && seen === expected) {
        recoveries++;
        recover(region, set, DEAD);
      }
      return seen;
    });
    take(set);
    spy.mockRestore();
    expect(recoveries).toBe(1);
    // The slot that the entry had is free: this thread has none.
    expect(freeIn(region, set, 0)).toBe(places);
    take(set);
    expect(freeIn(region, set, 1)).toBe(places - 1);
    expect(leftIn(set)).toBe(97);
  });

  test('belong to a thread once it has replaced them, whichever process made them live', () => {
    const region = hostRegion();
    const set = open(region);
    take(set);
    const end = (set.handle.offset + KEYED.table + ENTRY_BYTES * (entries + 1)) >> 3;
    let exchanges = 0;
    const spy = replaceExchanges<bigint>((exchange, { words, at }) => {
      const isState = words instanceof BigInt64Array && at < end;
      // The thread has made sure of its spare slot by now.
      if (isState && exchanges++ === 1) recover(region, set, DEAD);
      return exchange();
    });
    giveTo(DEAD, region, set);
    take(set);
    take(set);
    spy.mockRestore();
    expect(exchanges).toBe(2);
    expect(freeIn(region, set, 1)).toBe(places - 1);
    expect(leftIn(set)).toBe(97);
  });
});
