import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  ChangeLog,
  type LoggedChange,
  type RecordedChange,
  type Values,
} from '../../src/host/change-log.ts';
import { type Operation, operate, pausing, resuming, setting } from '../../src/host/operations.ts';
import type { HostRegion } from '../../src/host.ts';
import { LimitSet, type Region, TokenBucket } from '../../src/index.ts';
import {
  CHANGE,
  CHANGE_BYTES,
  CHANGE_ENTRIES,
  CHANGES_KEPT,
  REGION_FILE,
} from '../../src/memory/layout.ts';
import { host, inRegion, regionWith } from '../cli/support/operated.ts';
import { crashCopies, privateRegion } from '../support/crash-copies.ts';
import { compiled } from '../support/crew.ts';
import { hostRegion } from '../support/host.ts';
import { part, Random, SEED } from '../support/random.ts';

const OPTIONS = { user: 'ann', isDry: false, isRecorded: true };
const LIMITS = [
  { rate: 10, burst: 20 },
  { rate: 1, burst: 50 },
];

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

function set(region: HostRegion, name: string, options: Values): void {
  operate(
    region,
    name,
    setting(() => options),
    OPTIONS,
  );
}

function ratesIn(region: HostRegion): number[] {
  const { limits } = LimitSet.open(region, 'set', { limits: LIMITS, onMismatch: 'keep' });
  return limits.map(({ rate }) => rate);
}

/** The rates that are left in a set, and the stage of the last change. */
function leftIn(region: HostRegion): string {
  const { action, stage } = changesIn(region).at(-1) ?? {};
  return `${ratesIn(region)} ${action} ${stage}`;
}

// docs/host.md: "A limit is never half changed"
test('a kill between any two accesses leaves the limit of before or after, and a whole record', () => {
  const region = privateRegion();
  bucketIn(region);
  set(region, 'api', { rate: 1, burst: 2 });
  const copies = crashCopies(region, () => set(region, 'api', { rate: 50, burst: 100 }));
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
    set(copy, 'api', { rate: 7 });
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
  const several = LimitSet.open(region, 'set', { limits });
  operate(region, 'set', pausing, { ...OPTIONS, user: '\x1b\u{1f600}'.repeat(100) });
  const [paused] = changesIn(region);
  // It is not cut.
  expect(paused?.from).toEqual({ limits: limits.map(({ rate }) => ({ rate })) });
  expect(paused?.user.replaceAll(/[^…]/g, '')).toBe('…');
  bucketIn(region);
  for (let i = 0; i < 110; i++) {
    set(region, 'api', { rate: i + 100 });
  }
  expect(numbersIn(region)[0]).toBe(1);
  several.reconfigure({ limits: limits.map(() => ({ rate: 1 })) });
  // The program itself resumed it, of which the record knows nothing.
  set(region, 'set', { limits: limits.map(() => ({ rate: 2 })) });
  set(region, 'api', { rate: 1 });
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

test.each([
  ['a pause', [], pausing, ['undefined undefined', 'pause begun', 'pause begun', 'pause done']],
  ['a resume', [pausing], resuming, ['pause done', 'resume begun', 'resume begun', 'resume done']],
] as const)('%s that is killed at any store can be resumed', (_, before, operation, stages) => {
  const region = privateRegion();
  ratesIn(region);
  for (const made of before) operate(region, 'set', made, OPTIONS);
  const copies = crashCopies(region, () => operate(region, 'set', operation, OPTIONS));
  const [from, to] = operation === pausing ? ['10,1', '0,0'] : ['0,0', '10,1'];
  // The record comes before the change, and its mark after it.
  const left = stages.map((stage, i) => `${i < 2 ? from : to} ${stage}`);
  expect([...new Set(copies.map(leftIn))]).toEqual(left);
  for (const copy of copies) {
    operate(copy, 'set', resuming, OPTIONS);
    expect(ratesIn(copy)).toEqual([10, 1]);
  }
});

test('a change that fails is on record as failed, and the limit stays', () => {
  const region = privateRegion();
  TokenBucket.open(region, 'api', { rate: 10, burst: 20 });
  const failing: Operation = {
    action: 'set',
    plan: (subject) => {
      const step = setting(() => ({ rate: 5 })).plan(subject);
      const make = () => {
        throw new Error('busy');
      };
      return step && { ...step, make };
    },
  };
  expect(() => operate(region, 'api', failing, OPTIONS)).toThrow('busy');
  const [failed] = changesIn(region);
  expect(failed).toMatchObject({ stage: 'failed', from: { rate: 10 }, to: { rate: 5 } });
  TokenBucket.open(region, 'api', { rate: 10, burst: 20 });
});

const CHANGES = part(100, 20);
const TAKERS = 4;
/** A bucket that is idle for a while loses nothing. */
const BURST = 1000;
const MOST_RATE = 5000;

/** A process that takes tokens. */
async function start(path: string): Promise<ChildProcess> {
  const child = fork(compiled('operator'), [path, 'take'], { execArgv: [], stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

/** The most tokens that flow in under a rate of 1, and then under limits as a record says. */
function mostAdmitted(changes: readonly RecordedChange[], sinceMs: number, untilMs: number) {
  let tokens = ((changes[0]?.begunMs ?? untilMs) + 1 - sinceMs) / 1000;
  for (const [i, { to, from, begunMs, endedMs }] of changes.entries()) {
    const [old, rate] = [from, to].map((values) => Number((values as Values)['rate']));
    // Instants are rounded down to milliseconds.
    const changingMs = endedMs + 1 - begunMs;
    const nextMs = (changes[i + 1]?.begunMs ?? untilMs) + 1;
    tokens += (Math.max(old ?? 0, rate ?? 0) * changingMs) / 1000;
    tokens += ((rate ?? 0) * Math.max(0, nextMs - endedMs)) / 1000;
  }
  return tokens;
}

test(`under load, the limit holds across changes, as the record says (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const sinceMs = Date.now();
  const options = { rate: 1, burst: BURST, initial: 0 };
  const path = regionWith((region) => TokenBucket.open(region, 'api', options));
  const takers = await Promise.all(Array.from({ length: TAKERS }, () => start(path)));
  let rate = 10;
  for (let i = 0; i < CHANGES; i++) {
    // Another one: a change to the same rate would not be on record.
    rate = 10 + ((rate - 9 + random.below(MOST_RATE - 1)) % MOST_RATE);
    expect(await host('set', path, 'api', `rate=${rate}`)).toMatchObject({ code: 0 });
  }
  const ask = (message: string) =>
    Promise.all(
      takers.map(async (taker) => {
        taker.send(message);
        const [count] = await once(taker, 'message');
        return Number(count);
      }),
    );
  // Until each of them has taken some.
  while ((await ask('count')).includes(0));
  const taken = await ask('stop');
  const most = inRegion(path, (region) => {
    const changes = ChangeLog.find(region)?.changes() ?? [];
    expect(changes).toHaveLength(CHANGES);
    return mostAdmitted(changes, sinceMs, Date.now());
  });
  const sum = taken.reduce((all, count) => all + count, 0);
  expect(sum).toBeLessThanOrEqual(most);
});
