import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ChangeLog, type LoggedChange } from '../../src/host/change-log.ts';
import { operate, pausing, setting } from '../../src/host/operations.ts';
import { LimitSet, type Region, TokenBucket } from '../../src/index.ts';
import {
  CHANGE,
  CHANGE_BYTES,
  CHANGE_ENTRIES,
  CHANGES_KEPT,
  REGION_FILE,
} from '../../src/memory/layout.ts';
import { crashCopies, privateRegion } from '../support/crash-copies.ts';
import { compiled } from '../support/crew.ts';
import { hostRegion } from '../support/host.ts';
import { part } from '../support/random.ts';

const OPTIONS = { user: 'ann', isDry: false, isRecorded: true };

function change(fields: Partial<LoggedChange> = {}): LoggedChange {
  return {
    action: 'set',
    user: 'ann',
    pid: 7,
    cell: 64,
    from: { rate: 1 },
    to: { rate: 2 },
    ...fields,
  };
}

function changesIn(region: Region) {
  return ChangeLog.find(region)?.changes() ?? [];
}

function numbersIn(region: Region): number[] {
  return changesIn(region).map(({ number }) => number);
}

function record(region: Region, times: number, kept: ReadonlySet<number> = new Set()): void {
  for (let i = 0; i < times; i++) ChangeLog.findOrCreate(region).begin(change(), kept)('done');
}

function bucketIn(region: Region) {
  return TokenBucket.open(region, 'api', { rate: 10, burst: 20, onMismatch: 'keep' });
}

// docs/host.md: "A limit is never half changed"
test('a kill between any two accesses leaves the limit of before or after, and a whole record', () => {
  const region = privateRegion();
  bucketIn(region);
  const set = (rate: number) =>
    operate(
      region,
      'api',
      setting(() => ({ rate, burst: 2 * rate })),
      OPTIONS,
    );
  set(1);
  const copies = crashCopies(region, () => set(50));
  const left = copies.map((copy) => {
    const { rate, burst } = bucketIn(copy);
    expect(burst).toBe(2 * rate);
    const changes = changesIn(copy);
    const { stage, to } = changes.at(-1) ?? {};
    expect(to).toEqual({
      rate: changes.length === 1 ? 1 : 50,
      burst: changes.length === 1 ? 2 : 100,
    });
    return `${rate} ${changes.length} ${stage}`;
  });
  // First the record, then the change, then the mark that it is done.
  expect([...new Set(left)]).toEqual(['1 1 done', '1 2 begun', '50 2 begun', '50 2 done']);
  expect(copies.length).toBeGreaterThan(20);
  for (const copy of copies) {
    const before = changesIn(copy).length;
    operate(
      copy,
      'api',
      setting(() => ({ rate: 7 })),
      OPTIONS,
    );
    expect(numbersIn(copy)).toEqual(Array.from({ length: before + 1 }, (_, i) => i + 1));
  }
});

test('the record keeps the last 100 changes, even while another is written', () => {
  const region = privateRegion();
  record(region, 2 * CHANGE_ENTRIES + 5);
  const last = 2 * CHANGE_ENTRIES + 5;
  expect(numbersIn(region).at(-1)).toBe(last);
  const { store } = Atomics;
  let least = CHANGE_ENTRIES;
  const spy = vi.spyOn(Atomics, 'store').mockImplementation(((
    ...args: Parameters<typeof store>
  ) => {
    const result = store(...args);
    least = Math.min(least, numbersIn(region).length);
    return result;
  }) as never);
  record(region, 1);
  spy.mockRestore();
  expect(least).toBe(CHANGES_KEPT);
  expect(numbersIn(region)).toEqual(
    Array.from({ length: CHANGE_ENTRIES }, (_, i) => last + 1 - 100 + i),
  );
});

test('the change that paused a limiter stays on record until the limiter is resumed', () => {
  const region = privateRegion();
  const limits = Array.from({ length: 8 }, (_, i) => ({ rate: 1 / (3 + i) / 1e4, burst: 1 }));
  const set = LimitSet.open(region, 'set', { limits });
  operate(region, 'set', pausing, { ...OPTIONS, user: '\x1b\u{1f600}'.repeat(100) });
  const [paused] = changesIn(region);
  // It is not cut.
  expect(paused?.from).toEqual({ limits: limits.map(({ rate }) => ({ rate })) });
  expect(paused?.user.replaceAll(/[^…]/g, '')).toBe('…');
  bucketIn(region);
  for (let i = 0; i < 110; i++) {
    operate(
      region,
      'api',
      setting(() => ({ rate: i + 100 })),
      OPTIONS,
    );
  }
  expect(numbersIn(region)[0]).toBe(1);
  set.reconfigure({ limits: limits.map(() => ({ rate: 1 })) });
  // The program itself resumed it, of which the record knows nothing.
  operate(
    region,
    'set',
    setting(() => ({ limits: limits.map(() => ({ rate: 2 })) })),
    OPTIONS,
  );
  operate(
    region,
    'api',
    setting(() => ({ rate: 1 })),
    OPTIONS,
  );
  expect(numbersIn(region)[0]).toBeGreaterThan(1);
});

test('long values are cut, and Infinity is kept', () => {
  const region = privateRegion();
  const tiers = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`tier number ${i}`, i]));
  const log = ChangeLog.findOrCreate(region);
  log.begin(change({ from: { tiers }, to: { tiers }, key: 'k'.repeat(500) }), new Set());
  log.begin(change({ user: 'Infinity', to: { rate: Number.POSITIVE_INFINITY } }), new Set());
  const [long, infinite] = changesIn(region);
  expect(long?.from).toMatch(/^\{"tiers":\{"tier number 0":0,.*…$/);
  expect(long?.key).toMatch(/^k{70,}…$/);
  expect(infinite).toMatchObject({ user: 'Infinity', to: { rate: Number.POSITIVE_INFINITY } });
});

test.each([
  ['a number of bytes', CHANGE.textBytes, 4000],
  ['a stage', CHANGE.stage, 9],
  ['a text', CHANGE.text, 0],
])('%s that cannot be is damage', (_, field, value) => {
  const region = privateRegion();
  record(region, 3);
  const at = region.i32[REGION_FILE.changes >> 2] ?? 0;
  region.i32[(at + CHANGE_BYTES + field) >> 2] = value;
  const damaged = expect.objectContaining({ code: 'ERR_REGION_DAMAGED' });
  expect(() => changesIn(region)).toThrow(damaged);
  region.i32[REGION_FILE.changes >> 2] = region.buffer.byteLength - 64;
  expect(() => changesIn(region)).toThrow(damaged);
});

test('who reads the record while others write sees whole changes only', async () => {
  const region = hostRegion();
  const writers = [1, 2].map(() =>
    fork(compiled('operator'), [region.path, 'write'], { execArgv: [], stdio: 'inherit' }),
  );
  onTestFinished(() => {
    for (const writer of writers) writer.kill('SIGKILL');
  });
  await Promise.all(writers.map((writer) => once(writer, 'message')));
  const seen = new Set<number>();
  for (let reads = 0; reads < part(2000, 50) || seen.size < 300; reads++) {
    const torn = changesIn(region).filter(({ number, user, pid, cell, from, to }) => {
      seen.add(number);
      const fields = [cell, user, JSON.stringify(from), JSON.stringify(to)];
      const values = JSON.stringify({ pid });
      return `${fields}` !== `${[pid, `${pid}`.padEnd(1 + (pid % 30), 'x'), values, values]}`;
    });
    expect(torn).toEqual([]);
  }
});
