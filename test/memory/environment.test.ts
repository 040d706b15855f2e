import { afterEach, expect, test, vi } from 'vitest';
import { variable } from '../../src/memory/runtime.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

test('a variable is that of the environment, or missing', () => {
  vi.stubEnv('ZEROTIME_PRECISE', '1');
  expect([variable('ZEROTIME_PRECISE'), variable('ZEROTIME_NONE')]).toEqual(['1', undefined]);
  vi.stubGlobal('process', undefined);
  expect(variable('ZEROTIME_PRECISE')).toBeUndefined();
});

test.each([
  ['granted', '1'],
  ['prompt', undefined],
  ['denied', undefined],
])('Deno is not asked: if access is %s it is %s', (state, value) => {
  vi.stubEnv('ZEROTIME_PRECISE', '1');
  const querySync = vi.fn(() => ({ state }));
  vi.stubGlobal('Deno', { permissions: { querySync } });
  expect(variable('ZEROTIME_PRECISE')).toBe(value);
  expect(querySync).toHaveBeenCalledWith({ name: 'env', variable: 'ZEROTIME_PRECISE' });
});

test('an environment that must not be read counts as empty', () => {
  const env = new Proxy(
    {},
    {
      get: () => {
        throw new Error('requires env access');
      },
    },
  );
  vi.stubGlobal('process', { env });
  expect(variable('ZEROTIME_PRECISE')).toBeUndefined();
});
