import { expect, it } from 'vitest';
import { Tally } from '../../../src/load/measure/tally.ts';
import { dataBytesOf } from '../../../src/load/task/task-module.ts';
import { OPTIONS as options, resultOf } from '../../cli/support/load-result.ts';

it('the terms of a target have all that its requests are made of, without secrets', () => {
  const changed = resultOf({
    options: {
      ...options,
      method: 'PUT',
      headers: [
        ['accept', 'text/html'],
        ['authorization', 'Bearer abc'],
      ],
      body: new Uint8Array(3),
      connections: 7,
      transport: { http2: true, socketPath: '/run/a.sock' },
    },
  });
  expect(changed.options).toMatchObject({
    dataBytes: null,
    request: {
      method: 'PUT',
      headers: [
        ['accept', 'text/html'],
        ['authorization', expect.stringMatching(/^hash:/)],
      ],
      bodyBytes: 3,
      http2: true,
      unixSocket: '/run/a.sock',
      connections: 7,
    },
  });
  expect(resultOf().options.request).toMatchObject({ unixSocket: null, bodyBytes: 0 });
});

it('the terms of a task have the length of its data', () => {
  const task = { url: 'file:///task.mjs', data: ['a'], concurrency: 5 };
  const changed = resultOf({ options: { ...options, task } });
  expect(changed.options).toMatchObject({ dataBytes: 5, request: null });
});

it.each<[unknown, number | null]>([
  [undefined, 0],
  [{ a: 'é' }, Buffer.byteLength('{"a":"é"}')],
  [new BigInt64Array(4), 1 + 32],
  [{ a: Buffer.alloc(1_000) }, '{"a":0}'.length + 1_000],
  [5n, null],
])('the length of data is that of its JSON and typed arrays: %o', (data, bytes) => {
  expect(dataBytesOf(data)).toBe(bytes);
});

it('the verdict names what kept requests from being sent, and that they were not only without it', () => {
  const tally = new Tally();
  const reason = () => resultOf({ tally }).verdict.reasons[0];
  for (let i = 0; i < 9; i++) tally.countError('unsent', 'no connection was free');
  expect(reason()).toBe('no call succeeded: unsent: no connection was free');
  tally.countError('connection reset', 'ECONNRESET');
  for (let i = 0; i < 2; i++) tally.countError('timed out', 'no answer');
  expect(reason()).toBe('no call succeeded: timed out: no answer');
});

it('failures are counted by due time, each kind by itself', () => {
  const tally = new Tally(0);
  for (const dueUs of [0, 1_500, 1_600]) tally.countStatus(503, dueUs);
  tally.countError('timed out', 'too late', 2_000);
  expect(resultOf({ tally }).failuresByTime).toEqual([
    { kind: '503', slotMs: 1, counts: [1, 2] },
    { kind: 'timed out', slotMs: 1, counts: [0, 0, 1] },
  ]);
});
