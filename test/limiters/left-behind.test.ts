import { expect, test } from 'vitest';
import { KeyedTokenBucket, ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { BUCKET } from '../../src/memory/layout.ts';
import { claimRecords } from '../support/cell.ts';
import { leaked } from '../support/leaks.ts';

test('reports what a scene leaves behind: permits, callers, entries of a table, records', () => {
  const semaphore = Semaphore.create({ permits: 3 });
  expect(leaked(semaphore)).toBe('');
  const permit = semaphore.tryAcquire(2);
  expect(leaked(semaphore)).toBe('left behind: 2 permits, 1 available');
  permit?.release();

  const clock = ManualClock.create();
  const table = KeyedTokenBucket.create({ rate: 1, burst: 2, capacity: 4, clock });
  const idle = { capacity: 4, full: 2 };
  expect(leaked(table, idle)).toBe('');
  clock.advance(2000);
  // A key in debt keeps its entry, so one of four others has none of its own.
  table.charge('debtor', 1000);
  expect(leaked(table, idle)).toMatch(/^left behind: .*a key of [01] tokens|entries of 4/);

  const bucket = TokenBucket.create({ rate: 1, burst: 2, clock });
  expect(leaked(bucket)).toBe('');
  const { memory, offset } = bucket.handle;
  const buffer = 'buffer' in memory ? memory.buffer : memory;
  // Records of ended threads are taken over. More of them than there are leave none for a change.
  claimRecords(buffer, offset + BUCKET.claims, 0b0110);
  expect(leaked(bucket)).toBe('');
});
