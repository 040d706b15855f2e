import { expect, it } from 'vitest';
import { DoubleEnded } from '../../src/throttle/double-ended.ts';

it('adds at one end and removes at both, like an array', () => {
  const line = new DoubleEnded<number>();
  const array: number[] = [];
  let random = 1;
  for (let step = 0; step < 20_000; step++) {
    random = (random * 48_271) % 2_147_483_647;
    const isGrowing = step % 8000 < 5000;
    if (random % 3 === 0 && isGrowing) expect(line.pop()).toBe(array.pop());
    else if (random % 3 === 0 || !isGrowing) expect(line.shift()).toBe(array.shift());
    else {
      line.push(step);
      array.push(step);
    }
    if (random % 97 === 0) {
      const gone = array.splice(array.length >> 1, 1)[0] ?? -1;
      expect(line.remove(gone)).toBe(gone !== -1);
      expect(line.remove(gone)).toBe(false);
    }
    expect([line.length, line.first, line.last]).toEqual([array.length, array[0], array.at(-1)]);
  }
});
