import { expect, test } from 'vitest';
import { Random, SEED } from '../support/random.ts';
import { Numbering } from './numbering.ts';

test(`vectors get numbers in the order in which they come, the same ones again (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  const numbering = new Numbering(3);
  const known = new Map<string, number>();
  const wrong: string[] = [];
  // Small numbers come again, and there are more vectors than there were slots at first.
  for (let i = 0; i < 20_000; i++) {
    const vector = Int32Array.from([random.below(30), -random.below(30), random.below(30)]);
    const text = `${vector}`;
    const expected = known.get(text) ?? known.size;
    known.set(text, expected);
    if (numbering.numberOf(vector) !== expected) wrong.push(text);
  }
  expect(wrong).toEqual([]);
  expect(known.size).toBeGreaterThan(5_000);
  expect(numbering.size).toBe(known.size);
});

test('a vector without numbers has one number', () => {
  const numbering = new Numbering(0);
  expect([numbering.numberOf(new Int32Array(0)), numbering.numberOf(new Int32Array(0))]).toEqual([
    0, 0,
  ]);
});
