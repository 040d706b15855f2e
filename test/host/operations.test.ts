import { expect, test } from 'vitest';
import { ChangeLog } from '../../src/host/change-log.ts';
import { type Operation, operate, pausing, resuming, setting } from '../../src/host/operations.ts';
import type { HostRegion } from '../../src/host.ts';
import { LimitSet, TokenBucket } from '../../src/index.ts';
import { crashCopies, privateRegion } from '../support/crash-copies.ts';

const LIMITS = [
  { rate: 10, burst: 20 },
  { rate: 1, burst: 50 },
];
const KEPT = { onMismatch: 'keep' } as const;

function limitsIn(region: HostRegion) {
  const { limits } = LimitSet.open(region, 'set', { limits: LIMITS, ...KEPT });
  return limits.map(({ rate }) => rate);
}

function run(region: HostRegion, operation: Operation): void {
  operate(region, 'set', operation, { user: 'ann', isDry: false, isRecorded: true });
}

/** The rates that are left, and the stage of the last change. */
function leftIn(region: HostRegion): string {
  const { action, stage } = ChangeLog.find(region)?.changes().at(-1) ?? {};
  return `${limitsIn(region)} ${action} ${stage}`;
}

test('a pause that is killed at any store can be resumed, if it has paused', () => {
  const region = privateRegion();
  limitsIn(region);
  const copies = crashCopies(region, () => run(region, pausing));
  expect([...new Set(copies.map(leftIn))]).toEqual([
    '10,1 undefined undefined',
    '10,1 pause begun',
    '0,0 pause begun',
    '0,0 pause done',
  ]);
  for (const copy of copies) {
    run(copy, resuming);
    expect(limitsIn(copy)).toEqual([10, 1]);
  }
});

test('a resume that is killed at any store can be repeated', () => {
  const region = privateRegion();
  limitsIn(region);
  run(region, pausing);
  const copies = crashCopies(region, () => run(region, resuming));
  expect([...new Set(copies.map(leftIn))]).toEqual([
    '0,0 pause done',
    '0,0 resume begun',
    '10,1 resume begun',
    '10,1 resume done',
  ]);
  for (const copy of copies) {
    run(copy, resuming);
    expect(limitsIn(copy)).toEqual([10, 1]);
  }
});

test('a change that fails is on record as failed, and the limit stays', () => {
  const region = privateRegion();
  TokenBucket.open(region, 'api', { rate: 10, burst: 20 });
  const options = { user: 'ann', isDry: false, isRecorded: true };
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
  expect(() => operate(region, 'api', failing, options)).toThrow('busy');
  const [change] = ChangeLog.find(region)?.changes() ?? [];
  expect(change).toMatchObject({ stage: 'failed', from: { rate: 10 }, to: { rate: 5 } });
  TokenBucket.open(region, 'api', { rate: 10, burst: 20 });
});
