import { describe, expect, it } from 'vitest';
import { Fifo } from '../../src/load/send/fifo.ts';

describe('Fifo', () => {
  it('returns items in order of arrival, also across compaction', () => {
    const fifo = new Fifo<number>();
    let next = 0;
    for (let item = 0; item < 10_000; item += 1) {
      fifo.push(item);
      if (item % 3 !== 0) expect(fifo.shift()).toBe(next++);
    }
    expect(fifo.length).toBe(10_000 - next);
    while (fifo.length > 0) {
      expect(fifo.peek()).toBe(next);
      expect(fifo.shift()).toBe(next++);
    }
    expect(next).toBe(10_000);
    expect(fifo.peek()).toBeUndefined();
    expect(fifo.shift()).toBeUndefined();
    fifo.push(1);
    expect(fifo.shift()).toBe(1);
  });

  it('visits all remaining items, oldest first', () => {
    const fifo = new Fifo<number>();
    for (const item of [1, 2, 3, 4, 5]) fifo.push(item);
    fifo.shift();
    const seen: number[] = [];
    fifo.forEach((item) => {
      seen.push(item);
    });
    expect(seen).toEqual([2, 3, 4, 5]);
  });
});
