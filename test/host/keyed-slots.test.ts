import { describe, expect, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { KeyedTokenBucket } from '../../src/index.ts';
import { openKeyedCell } from '../../src/kernel/keyed/cell.ts';
import { freeKeyedSlots } from '../../src/kernel/keyed/composite-slots.ts';
import type { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import {
  ENTRY,
  ENTRY_BYTES,
  KEYED,
  KEYED_SLOT,
  keyedSlotBytes,
  keyedSlotsAt,
  RACK_PLACES,
} from '../../src/memory/layout.ts';
import { keyedSlotsOf } from '../support/cell.ts';
import { ask, hostPath, hostRegion, startProcesses } from '../support/host.ts';
import { replaceExchanges } from '../support/replaced-exchanges.ts';

const OPTIONS = {
  limits: [
    { rate: 1e-6, burst: 100 },
    { rate: 1e-6, burst: 120 },
  ],
  capacity: 4,
};

function tableIn(region: Region): KeyedTokenBucket {
  return KeyedTokenBucket.open(region, 'keys', { ...OPTIONS, kernel: 'atomics' });
}

/** How many slots are in the rack; all slots must be there or named by one entry. */
function freeIn(region: Region, table: KeyedTokenBucket, held: number): number {
  const { free, named } = keyedSlotsOf(region, table);
  expect(new Set([...free, ...named]).size).toBe(RACK_PLACES + named.length - held);
  return free.length;
}

/** The first word after the entries of a table. */
function statesEnd({ handle }: KeyedTokenBucket, entries: number): number {
  return (handle.offset + KEYED.table + ENTRY_BYTES * entries) >> 3;
}

/** Recovers the slots and records of a process, as a sweep does. */
function recover(region: Region, { handle: { offset } }: KeyedTokenBucket, process: number): void {
  const nonce = nonceOf({ region, offset, bytes: 0 });
  const place = openKeyedCell(region, offset, 'keyed-token-bucket', nonce);
  freeKeyedSlots(place, process, region.sharing?.process ?? 0);
}

/** As if a process had made the slots of all keys live, and then ended. */
function giveTo(process: number, region: Region, table: KeyedTokenBucket): void {
  const { offset } = table.handle;
  const entries = 2 * OPTIONS.capacity;
  const slots = offset + keyedSlotsAt(entries, OPTIONS.limits.length);
  for (const slot of keyedSlotsOf(region, table).named) {
    const at = slots + slot * keyedSlotBytes(OPTIONS.limits.length) + KEYED_SLOT.holding;
    region.i64[at >> 3] =
      ((region.i64[at >> 3] ?? 0n) & ~(0xffn << 32n)) | (BigInt(process) << 32n);
  }
}

describe('the slots of a table with several limits', () => {
  test('come back from a process that is killed', async () => {
    const region = hostRegion();
    const table = tableIn(region);
    for (let i = 1; i <= 3; i++) {
      table.tryConsume('a');
      expect(freeIn(region, table, 1)).toBe(RACK_PLACES - 1);
      const [child] = await startProcesses('host-user', 1);
      if (child === undefined) return;
      expect(await ask(child, { key: 'a', path: region.path })).toEqual({ result: true });
      expect(freeIn(region, table, 2)).toBe(RACK_PLACES - 2);
      child.kill('SIGKILL');
      while (region.processes().length > 1) await new Promise(setImmediate);
      expect(freeIn(region, table, 1)).toBe(RACK_PLACES - 1);
      expect(Math.round(table.available('a'))).toBe(100 - 2 * i);
    }
  });

  test('come back from a process that closes the region, which can go on', () => {
    const region = HostRegion.open({ path: hostPath() });
    const table = tableIn(region);
    table.tryConsume('a');
    region.close();
    expect(freeIn(region, table, 0)).toBe(RACK_PLACES);
    expect(table.tryConsume('b')).toBe(true);
    expect(freeIn(region, table, 1)).toBe(RACK_PLACES - 1);
    expect([table.available('a'), table.available('b')].map(Math.round)).toEqual([99, 99]);
  });

  test('go to recovery or to the thread that takes them, from an entry or a place', () => {
    const region = hostRegion();
    const table = tableIn(region);
    const dead = 200;
    for (const key of ['a', 'b']) table.tryConsume(key);
    const { offset } = table.handle;
    const states = Array.from(
      { length: 2 * OPTIONS.capacity + 1 },
      (_, i) => ((offset + KEYED.table) >> 3) + ENTRY.step * i + ENTRY.state,
    );
    giveTo(dead, region, table);
    let recoveries = 0;
    const spy = replaceExchanges<bigint>((exchange, { words, at, expected }) => {
      const seen = exchange();
      if (words instanceof BigInt64Array && states.includes(at) && seen === expected) {
        recoveries++;
        recover(region, table, dead);
      }
      return seen;
    });
    table.tryConsume('a');
    spy.mockRestore();
    expect(recoveries).toBe(1);
    // The slot that 'a' had is in the rack: this thread has none.
    expect(freeIn(region, table, 0)).toBe(RACK_PLACES);
    table.tryConsume('b');
    expect(freeIn(region, table, 1)).toBe(RACK_PLACES - 1);
    expect(['a', 'b'].map((key) => Math.round(table.available(key)))).toEqual([98, 98]);
  });

  test('belong to a thread once it has replaced them, whichever process made them live', () => {
    const region = hostRegion();
    const table = tableIn(region);
    const dead = 200;
    table.tryConsume('a');
    const entries = keyedSlotsOf(region, table).named;
    let exchanges = 0;
    const spy = replaceExchanges<bigint>((exchange, { words, at }) => {
      const isState = words instanceof BigInt64Array && at < statesEnd(table, entries.length);
      // The thread has made sure of its spare slot by now.
      if (isState && exchanges++ === 1) recover(region, table, dead);
      return exchange();
    });
    giveTo(dead, region, table);
    table.tryConsume('a');
    table.tryConsume('a');
    spy.mockRestore();
    expect(exchanges).toBe(2);
    expect(freeIn(region, table, 1)).toBe(RACK_PLACES - 1);
    expect(Math.round(table.available('a'))).toBe(97);
  });
});
