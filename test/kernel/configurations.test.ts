import { expect, test } from 'vitest';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { createKeyedCell, openKeyedCell, readTable } from '../../src/kernel/keyed/cell.ts';
import { boundsOf, createWindowCell, openWindowCell } from '../../src/kernel/window/cell.ts';
import { firstSlotWord } from '../../src/kernel/window/limit.ts';
import {
  createSometimesCell,
  openSometimesCell,
  readOccasions,
} from '../../src/kernel/window/sometimes.ts';
import { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { WINDOW } from '../../src/memory/layout.ts';

// Found by a thread that overwrote a limiter while another attached to it: a checked configuration
// was read a second time, and had changed.

function vandalise(region: Region, offset: number, bytes: number): void {
  region.f64.fill(6e-64, (offset + 64) >> 3, (offset + bytes) >> 3);
}

test('the checked bounds of a window are not read again', () => {
  const region = Region.create();
  const limit = { limit: 10, intervalMs: 10, slots: 4, maxLimit: 20 };
  const kind = 'sliding-window';
  const word = firstSlotWord(limit.maxLimit);
  const made = createWindowCell({ kind, limit, originTicks: 7, word, stats: false, region });
  const place = openWindowCell(region, made.offset, kind, nonceOf(made));
  vandalise(region, made.offset, made.bytes);
  region.i32.fill(7, (made.offset + WINDOW.slots) >> 2, (made.offset + WINDOW.records) >> 2);
  expect(boundsOf(place)).toEqual({ kind, slots: 4, maxLimit: 20, allowDoubleBurst: false });
  expect(boundsOf(made)).toEqual(boundsOf(place));
});

test('the checked configuration of a table is not read again', () => {
  const region = Region.create();
  const kind = 'keyed-token-bucket';
  const limit = { schedule: continuous(10, 5), nowUs: 3, capacity: 8, whenFull: 'refuse' } as const;
  const made = createKeyedCell({ kind, ...limit, stats: false, region });
  const place = openKeyedCell(region, made.offset, kind, nonceOf(made));
  vandalise(region, made.offset, made.bytes);
  expect(readTable(place)).toEqual({
    ...{ entries: 16, whenFull: 1, recordsAt: 512, limitCount: 1, tiers: [] },
  });
  expect(readTable(made)).toEqual(readTable(place));
});

test('the checked configuration of a Sometimes is not read again', () => {
  const region = Region.create();
  const occasions = { first: 3, every: 5, intervalMs: 0 };
  const made = createSometimesCell(occasions, 0, region);
  const place = openSometimesCell(region, made.offset, 'sometimes', nonceOf(made));
  vandalise(region, made.offset, made.bytes);
  expect(readOccasions(place)).toEqual({ ...occasions, originTicks: 0 });
  expect(readOccasions(made)).toEqual(readOccasions(place));
});
