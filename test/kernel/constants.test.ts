import { expect, test } from 'vitest';

interface Compile {
  constantLines(numbers: readonly (readonly [string, number])[]): string[];
  constantsSource(): Promise<string>;
}
const module = new URL('../../src/kernel/build/compile.mjs', import.meta.url).href;
const { constantLines, constantsSource } = (await import(module)) as Compile;

test('no two constants of the engine have one name', async () => {
  const found = [...(await constantsSource()).matchAll(/^export const (\w+) =/gm)];
  const names = found.map(([, name]) => name);
  expect(names.length).toBeGreaterThan(80);
  expect(new Set(names).size).toBe(names.length);
  const twice = [
    ['RECORD_rate', 8],
    ['RECORD_rate', 16],
  ] as const;
  expect(() => constantLines(twice)).toThrow('two constants of the engine are named RECORD_rate');
});
