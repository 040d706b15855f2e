import { createTraceState } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { probabilityOf } from '../../../src/integrations/opentelemetry/shared-sampling.ts';
import { DIGITS, reaches, Threshold } from '../../../src/integrations/opentelemetry/threshold.ts';
import {
  readState,
  textOf,
  writeState,
} from '../../../src/integrations/opentelemetry/trace-state.ts';
import { Random, SEED } from '../../support/random.ts';

function thresholdFor(probability: number): Threshold {
  const threshold = new Threshold();
  threshold.set(probability);
  return threshold;
}

/** Spans that one at this threshold stands for, as the specification defines it. */
function adjustedCount(th: string): number {
  const rejected = Number(BigInt(`0x${th.padEnd(DIGITS, '0')}`));
  return 2 ** 56 / (2 ** 56 - rejected);
}

// The table of "Converting floating-point probability to threshold value", precision 4:
// https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
test.each([
  [1, '0', 1],
  [1 / 2, '8', 2],
  [1 / 3, 'aaab', 3.00004577706569],
  [1 / 4, 'c', 4],
  [1 / 5, 'cccd', 5.0000762951094835],
  [1 / 8, 'e', 8],
  [1 / 10, 'e666', 9.99938968568813],
  [1 / 16, 'f', 16],
  [1 / 100, 'fd70a', 99.99771123402633],
  [1 / 1000, 'ffbe77', 1000.012874769029],
  [1 / 10_000, 'fff9724', 9999.830725674266],
  [1 / 100_000, 'ffff583a', 99999.238556461],
  [1 / 1_000_000, 'ffffef39', 999992.38556461],
])('encodes %d as the specification does: %s', (probability, th, count) => {
  const threshold = thresholdFor(probability);
  expect(threshold.text).toBe(th);
  expect(threshold.integer).toBe(BigInt(`0x${th.padEnd(14, '0')}`));
  expect(1 / threshold.probability).toBeCloseTo(count, 5);
  expect(adjustedCount(th)).toBeCloseTo(count, 5);
});

// "If randomness >= threshold, keep": test/sampler.test.ts of @opentelemetry/sampler-composite.
test.each([
  [0.5, '7fffffffffffff', false],
  [0.5, '80000000000000', true],
  [1, '00000000000000', true],
  [0.25, 'BFFFFFFFFFFFFF', false],
  [0.25, 'C0000000000000', true],
])('compares with randomness: %d, %s', (probability, rv, isMet) => {
  const threshold = thresholdFor(probability);
  expect(threshold.isMet(rv, 0)).toBe(isMet);
  expect(threshold.isMet(`0011223344556677_ ${rv}`, 18)).toBe(isMet);
  expect(reaches(rv, 0, threshold.text)).toBe(isMet);
});

test('drops spans whose randomness is cut off or no digits', () => {
  expect(thresholdFor(0.5).isMet('', -14)).toBe(false);
  expect(thresholdFor(1).isMet('', -14)).toBe(true);
});

test.each([0, -1, Number.NaN, 1e-300])('never goes below 2^-56: %d', (probability) => {
  const threshold = thresholdFor(probability);
  expect(threshold.text).toBe('ffffffffffffff');
  expect(threshold.probability).toBe(2 ** -56);
});

test('keeps four digits of any probability, in number and in text alike', () => {
  const random = new Random(SEED);
  const threshold = new Threshold();
  for (let i = 0; i < 20_000; i++) {
    const probability = random.logarithmic(2 ** -42, 1);
    threshold.set(probability);
    expect(Math.abs(threshold.probability / probability - 1)).toBeLessThan(1 / 8000);
    const rejected = BigInt(`0x${threshold.text.padEnd(DIGITS, '0')}`);
    expect(Number(2n ** 56n - rejected) / 2 ** 56).toBe(threshold.probability);
    const rv = random.bits().toString(16).padStart(8, '0').padEnd(DIGITS, '7');
    expect(threshold.isMet(rv, 0)).toBe(BigInt(`0x${rv}`) >= rejected);
  }
});

const limit = { rate: 100, burst: 101 };

test.each([
  ['aims at the rate with a bucket that is half full', 51, 10_000, 0.01],
  ['keeps more of the spans if the bucket is fuller', 81, 10_000, 0.04],
  ['keeps fewer if it is emptier', 21, 10_000, 0.0025],
  ['keeps every span if it is full', 101, 1e9, 1],
  ['keeps every span if fewer arrive than the limit lets through', 51, 50, 1],
  ['keeps every span if none has arrived', 51, 0, 1],
  ['aims at no less than 1/128 of the rate', 1, 1000, 0.1 / 128],
  ['aims at the rate where each span is refused', 0.9, 10_000, 0.01],
])('%s', (_, balance, perSecond, probability) => {
  expect(probabilityOf({ ...limit, balance, perSecond })).toBeCloseTo(probability, 12);
});

test('keeps next to nothing while the limit is paused', () => {
  expect(probabilityOf({ rate: 0, burst: 101, balance: 51, perSecond: 10 })).toBe(0);
});

const LONG = `a:${'X'.repeat(214)}`;

// The vectors of test/tracestate.test.ts of @opentelemetry/sampler-composite 0.222.0.
test.each([
  ['a', 'a'],
  ['#', '#'],
  ['rv:1234567890abcd', 'rv:1234567890abcd'],
  ['rv:01020304050607', 'rv:01020304050607'],
  ['rv:1234567890abcde', ''],
  ['th:1234567890abcd', 'th:1234567890abcd'],
  ['th:10000000000000', 'th:1'],
  ['th:1234500000000', 'th:12345'],
  ['th:0', 'th:0'],
  ['th:100000000000000', ''],
  ['th:1234567890abcde', ''],
  [
    `${LONG};rv:1234567890abcd;th:1234567890abcd;x:3`,
    `th:1234567890abcd;rv:1234567890abcd;${LONG};x:3`,
  ],
  ['th:x', ''],
  ['th:1000000000000', 'th:1'],
  ['th:100', 'th:1'],
  ['th:1', 'th:1'],
  ['th:10000000000001', 'th:10000000000001'],
  ['th:10000000000010', 'th:1000000000001'],
  ['rv:x', ''],
  ['rv:100000000000000', ''],
  ['rv:10000000000000', 'rv:10000000000000'],
  ['rv:1000000000000', ''],
])('reads and writes as the SDK does: %s', (entry, written) => {
  expect(textOf(readState(createTraceState(`ot=${entry}`)))).toBe(written);
});

// The examples of https://opentelemetry.io/docs/specs/otel/trace/tracestate-handling/
test("keeps others' members of the entry", () => {
  expect(readState(createTraceState('ot=p:8;r:62'))).toEqual({
    ...{ th: undefined, rv: undefined },
    rest: ['p:8', 'r:62'],
  });
  const state = createTraceState('vendor=1,ot=p:8;th:8;r:62');
  expect(writeState(state, { ...readState(state), th: 'c' })?.serialize()).toBe(
    'ot=th:c;p:8;r:62,vendor=1',
  );
});

test('writes nothing where there is nothing to say', () => {
  expect(writeState(undefined, { rest: [] })).toBeUndefined();
  const state = createTraceState('vendor=1,ot=th:8');
  expect(writeState(state, { rest: [] })?.serialize()).toBe('vendor=1');
});

test('leaves out whole members of an entry that would be too long', () => {
  const entry = textOf({ th: '8', rest: [`a:${'x'.repeat(240)}`, 'b:123456789'] });
  expect(entry).toBe(`th:8;a:${'x'.repeat(240)}`);
  expect(readState(createTraceState(`ot=${'y'.repeat(257)}`))).toEqual({ rest: [] });
});
