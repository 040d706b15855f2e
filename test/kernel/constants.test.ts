import { expect, test } from 'vitest';
import { constantLines, constantsSource } from '../../src/kernel/build/compile.mjs';

test('no two constants of the engine have one name', async () => {
  const names = [...(await constantsSource()).matchAll(/^export const (\w+) =/gm)].map(
    ([, name]) => name,
  );
  expect(names.length).toBeGreaterThan(80);
  expect(new Set(names).size).toBe(names.length);
  const twice: [string, number][] = [
    ['RECORD_rate', 8],
    ['RECORD_rate', 16],
  ];
  expect(() => constantLines(twice)).toThrow('two constants of the engine are named RECORD_rate');
});
