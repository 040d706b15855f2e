import { expect, test } from 'vitest';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { createKeyedCell, openKeyedCell, readTable } from '../../src/kernel/keyed/cell.ts';
import { createWindowCell, openWindowCell, readWindow } from '../../src/kernel/window/cell.ts';
import { firstSlotWord } from '../../src/kernel/window/limit.ts';
import {
  createSometimesCell,
  openSometimesCell,
  readOccasions,
} from '../../src/kernel/window/sometimes.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { Region } from '../../src/memory/region.ts';

// Found by a thread that overwrote a limiter while another attached to it: a checked configuration
// was read a second time, and had changed.

function vandalise(region: Region, offset: number, bytes: number): void {
  region.f64.fill(6e-64, (offset + 64) >> 3, (offset + bytes) >> 3);
}

test('the checked configuration of a window is not read again', () => {
  const region = Region.create();
  const limit = { limit: 10, intervalMs: 10, slots: 4 };
  const kind = 'sliding-window';
  const word = firstSlotWord(limit.limit);
  const made = createWindowCell({ kind, limit, originTicks: 7, word, stats: false, region });
  const place = openWindowCell(region, made.offset, kind, nonceOf(made));
  vandalise(region, made.offset, made.bytes);
  expect(readWindow(place)).toEqual({ ...limit, originTicks: 7 });
  expect(readWindow(made)).toEqual(readWindow(place));
});

test('the checked configuration of a table is not read again', () => {
  const region = Region.create();
  const kind = 'keyed-token-bucket';
  const limit = { schedule: continuous(10, 5), nowUs: 3, capacity: 8, whenFull: 'refuse' } as const;
  const made = createKeyedCell({ kind, ...limit, stats: false, region });
  const place = openKeyedCell(region, made.offset, kind, nonceOf(made));
  vandalise(region, made.offset, made.bytes);
  expect(readTable(place)).toEqual({ entries: 16, whenFull: 1, originUs: 3 });
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
