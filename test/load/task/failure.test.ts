import { expect, it } from 'vitest';
import { failureOf } from '../../../src/load/task/task-module.ts';

class Odd extends Error {
  override readonly name = 'Odd';
}

it.each([
  [new Odd('first line\nsecond'), 'Odd', 'first line'],
  [Object.assign(new Error('no'), { code: 'E_NO' }), 'Error E_NO', 'no'],
  [Object.assign(new Error('no'), { code: 7 }), 'Error', 'no'],
  ['text', 'thrown string', 'text'],
  [undefined, 'thrown undefined', 'undefined'],
  [null, 'thrown object', 'null'],
  [Symbol('s'), 'thrown symbol', 'Symbol(s)'],
  [{}, 'thrown object', ''],
  [{ name: 'x'.repeat(200), message: 'y'.repeat(500) }, 'x'.repeat(80), 'y'.repeat(200)],
  [
    new Proxy(
      {},
      {
        get() {
          throw new Error('trap');
        },
      },
    ),
    'thrown object',
    '',
  ],
])('names the thrown value %#', (thrown, kind, example) => {
  expect(failureOf(thrown)).toEqual({ kind, example });
});
