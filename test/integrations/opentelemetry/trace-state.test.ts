import { createTraceState } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import {
  readState,
  textOf,
  writeState,
} from '../../../src/integrations/opentelemetry/trace-state.ts';

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
