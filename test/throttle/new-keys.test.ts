import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { FairQueue, type Queued } from '../../src/throttle/fair-queue.ts';
import type { Flow } from '../../src/throttle/level.ts';
import { throttled } from '../../src/throttle.ts';

class Item implements Queued<Item> {
  readonly key: number;
  readonly sinceUs = 0;
  flow: Flow<Item> | undefined;
  ahead: Item | undefined;
  behind: Item | undefined;

  constructor(key: number) {
    this.key = key;
  }
}

it('lets a waiting key take its turns while 1,100 new keys come a second, at 1,000 starts', async () => {
  const clock = ManualClock.create();
  const limiter = TokenBucket.create({ rate: 1000, burst: 1, initial: 0, clock });
  const starts = new Map<string, number>();
  const call = throttled((key: string) => void starts.set(key, (starts.get(key) ?? 0) + 1), {
    limiter,
    key: (key) => key,
  });
  const pending = Array.from({ length: 100 }, () => call('waiting'));
  /** The keys as they would take turns. */
  const turns = ['waiting'];
  let expected = 0;
  let keys = 0;
  for (let ms = 1; ms <= 4000; ms++) {
    for (; keys < 1.1 * ms; keys++) {
      pending.push(call(`new ${keys}`));
      turns.push(`new ${keys}`);
    }
    clock.advance(1);
    while (call.stats().completed < ms) await new Promise(setImmediate);
    if (turns.shift() !== 'waiting') continue;
    expected++;
    turns.push('waiting');
  }
  expect(expected).toBeGreaterThan(30);
  expect(starts.get('waiting')).toBe(expected);
  const closed = call.close({ waiting: 'reject' });
  await Promise.allSettled([...pending, closed]);
});

// docs/queues.md: "With equal weights, a waiting key starts at least once in N"
it('starts a key at least once in as many starts as keys waited at its last one', () => {
  const steps = fc.array(fc.nat(9), { minLength: 50, maxLength: 300 });
  fc.assert(
    fc.property(steps, (arrivals) => {
      const queue = new FairQueue<Item>(() => 1);
      const waiting = new Map<number, number>();
      /** The starts that a key may still wait for. */
      const due = new Map<number, number>();
      let next = 100;
      for (const arrival of arrivals) {
        // Often a new key, sometimes one of five that come back.
        for (const key of arrival < 7 ? [next++, next++, arrival % 5] : [arrival % 5]) {
          queue.add(new Item(key), 0, key);
          waiting.set(key, (waiting.get(key) ?? 0) + 1);
          if (!due.has(key)) due.set(key, waiting.size);
        }
        const served = (queue.take() as Item).key;
        let overdue = 0;
        for (const [key, left] of due) {
          if (key !== served && left <= 1) overdue++;
          due.set(key, left - 1);
        }
        expect(overdue).toBe(0);
        const left = (waiting.get(served) ?? 0) - 1;
        due.delete(served);
        waiting.set(served, left);
        if (left === 0) waiting.delete(served);
        else due.set(served, waiting.size);
      }
    }),
  );
});
