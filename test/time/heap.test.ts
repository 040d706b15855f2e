import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Heap, type Timed } from '../../src/time/heap.ts';

const operation = fc.oneof(
  fc.record({ add: fc.integer({ min: 0, max: 9 }) }),
  fc.record({ remove: fc.nat(30) }),
  fc.constant('take first' as const),
);

test('the first is always the earliest, and among equals the one added first', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 80 }), (operations) => {
      const heap = new Heap<Timed>();
      const added: Timed[] = [];
      let expected: Timed[] = [];
      for (const what of operations) {
        if (what === 'take first') {
          const { first } = heap;
          if (first !== undefined) heap.remove(first);
          expected = expected.filter((item) => item !== first);
        } else if ('add' in what) {
          const item = { atUs: what.add, place: -1, order: 0 };
          heap.add(item);
          added.push(item);
          expected.push(item);
        } else {
          // Often one that has left already, which does nothing.
          const item = added[what.remove % Math.max(1, added.length)];
          if (item !== undefined) heap.remove(item);
          expected = expected.filter((other) => other !== item);
        }
        expected.sort((a, b) => a.atUs - b.atUs || added.indexOf(a) - added.indexOf(b));
        expect(heap.first).toBe(expected[0]);
        expect(heap.size).toBe(expected.length);
        expect(added.filter(({ place }) => place >= 0).length).toBe(expected.length);
      }
    }),
  );
});
