import { expect, it } from 'vitest';
import { openResult } from '../../../src/load/api/open-result.ts';
import { dataBytesOf } from '../../../src/load/task/data-bytes.ts';
import { resultOf } from '../../cli/support/load-result.ts';

const { options } = resultOf();

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
  expect(openResult(changed).options).toMatchObject({
    dataBytes: null,
    request: {
      method: 'PUT',
      headers: [
        ['accept', 'text/html'],
        ['authorization', '***'],
      ],
      bodyBytes: 3,
      http2: true,
      unixSocket: '/run/a.sock',
      connections: 7,
    },
  });
  expect(openResult(resultOf()).options.request).toMatchObject({ unixSocket: null, bodyBytes: 0 });
});

it('the terms of a task have the length of its data', () => {
  const task = { url: 'file:///task.mjs', data: ['a'], concurrency: 5 };
  const changed = resultOf({ options: { ...options, task } });
  expect(openResult(changed).options).toMatchObject({ dataBytes: 5, request: null });
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
