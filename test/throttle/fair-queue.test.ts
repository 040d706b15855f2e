import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Semaphore } from '../../src/index.ts';
import { type Linked, Row } from '../../src/limiters/row.ts';
import { FairQueue, type Flow, type Key, type Queued } from '../../src/throttle/fair-queue.ts';
import { throttled } from '../../src/throttle.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { expectSame } from '../support/quick.ts';
import { settled } from '../support/settled.ts';

class Item implements Queued<Item> {
  readonly key: Key;
  readonly priority: number;
  readonly sinceUs: number;
  flow: Flow<Item> | undefined;
  ahead: Item | undefined;
  behind: Item | undefined;

  constructor(key: Key, priority = 0, sinceUs = 0) {
    this.key = key;
    this.priority = priority;
    this.sinceUs = sinceUs;
  }
}

function queueOf(weights: Record<string, number> = {}): FairQueue<Item> {
  return new FairQueue((key) => weights[String(key)] ?? 1);
}

function add(queue: FairQueue<Item>, key: Key, { times = 1, priority = 0, sinceUs = 0 } = {}) {
  return Array.from({ length: times }, () => {
    const item = new Item(key, priority, sinceUs);
    queue.add(item, priority, key);
    return item;
  });
}

function take(queue: FairQueue<Item>, times: number): Item[] {
  return Array.from({ length: times }, () => queue.take() as Item);
}

const keysOf = (items: Item[]) => items.map(({ key }) => key).join('');

function count(items: Item[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { key } of items) counts[String(key)] = (counts[String(key)] ?? 0) + 1;
  return counts;
}

it('lets keys take turns, however many calls each has', () => {
  const queue = queueOf();
  add(queue, 'a', { times: 6 });
  add(queue, 'b', { times: 2 });
  add(queue, 'c', { times: 1 });
  expect(keysOf(take(queue, 9))).toBe('abcabaaaa');
  expect(queue.take()).toBeUndefined();
});

it('shares starts by weight at every moment, not only on average', () => {
  const queue = queueOf({ b: 2, c: 4 });
  for (const key of ['a', 'b', 'c']) add(queue, key, { times: 1000 });
  for (let round = 0; round < 100; round++) {
    expect(count(take(queue, 7))).toEqual({ a: 1, b: 2, c: 4 });
  }
});

it('keeps the order of calls within one key and one priority', () => {
  const arrivals = fc.array(
    fc.record({ key: fc.integer({ max: 3, min: 0 }), priority: fc.integer({ min: 0, max: 2 }) }),
    { maxLength: 60 },
  );
  const leaving = fc.array(fc.nat(59), { maxLength: 20 });
  fc.assert(
    fc.property(arrivals, leaving, fc.nat(30), (calls, leavers, early) => {
      const queue = queueOf({ 1: 3, 2: 0.5 });
      const items = calls.map(({ key, priority }, sinceUs) => {
        const item = new Item(key, priority, sinceUs);
        queue.add(item, priority, key);
        return item;
      });
      const started = take(queue, Math.min(early, items.length));
      const gone = new Set(started);
      for (const at of leavers) {
        const item = items[at];
        if (item === undefined) continue;
        expect(queue.remove(item)).toBe(!gone.has(item));
        gone.add(item);
      }
      const oldest = items.find((item) => !gone.has(item));
      expect(queue.oldestUs).toBe(oldest?.sinceUs);
      expect(queue.length).toBe(items.length - gone.size);
      started.push(...take(queue, queue.length));
      expect(new Set([...started, ...gone]).size).toBe(items.length);
      for (const [i, item] of started.entries()) {
        for (const later of started.slice(i + 1)) {
          if (later.key === item.key && later.priority === item.priority) {
            expectSame(later.sinceUs > item.sinceUs, true);
          }
        }
      }
    }),
  );
});

it('starts higher priorities first, and gives every eighth start to one that waits', () => {
  const queue = queueOf();
  add(queue, 'l', { times: 5, priority: -1 });
  add(queue, 'h', { times: 20, priority: 7 });
  expect(keysOf(take(queue, 25))).toBe('hhhhhhhlhhhhhhhlhhhhhhlll');
  for (const [priority, key] of [...'lmh'].entries()) add(queue, key, { times: 9, priority });
  expect(keysOf(take(queue, 2))).toBe('hl'); // the 24th start; `m` has waited as long
});

it('orders priorities in whatever order they come', () => {
  for (const order of [
    [-1, 3, 7],
    [7, 3, -1],
    [3, 7, -1],
    [7, -1, 3],
  ]) {
    const queue = queueOf();
    for (const priority of order) add(queue, 'x', { priority });
    expect(take(queue, 3).map(({ priority }) => priority)).toEqual([7, 3, -1]);
  }
});

it('knows the call that starts last while all have one priority and one key', () => {
  const queue = queueOf();
  expect(queue.last).toBeUndefined();
  const [, last] = add(queue, 'a', { times: 2 });
  expect(queue.last).toBe(last);
  for (const [key, priority] of [
    ['b', 0],
    ['a', 1],
  ] as const) {
    const [other] = add(queue, key, { priority });
    expect(queue.last).toBeUndefined();
    queue.remove(other as Item);
  }
  expect(queue.last).toBe(last);
});

// docs/queues.md: "A low priority is delayed but never starved."
// docs/queues.md: "While calls of m priorities wait, every eighth start"
it('serves each of m priorities in any 8 (m - 1) starts while it has calls', () => {
  const steps = fc.array(fc.nat(5), { minLength: 50, maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 6 }), steps, (priorities, arrivals) => {
      const queue = queueOf();
      const waiting = Array.from({ length: priorities }, () => 0);
      const unserved = Array.from({ length: priorities }, () => 0);
      for (const arrival of arrivals) {
        const priority = arrival % priorities;
        add(queue, 'x', { priority, times: 2 });
        waiting[priority] = (waiting[priority] ?? 0) + 2;
        const [{ priority: served }] = take(queue, 1) as [Item];
        waiting[served] = (waiting[served] ?? 0) - 1;
        for (const [level, since] of unserved.entries()) {
          unserved[level] = level === served || waiting[level] === 0 ? 0 : since + 1;
          expectSame((unserved[level] ?? 0) < 8 * (priorities - 1), true, `${unserved}`);
        }
      }
    }),
  );
});

// docs/queues.md: "With equal weights, a waiting key starts at least once in N"
it('starts a key at least once in as many starts as keys waited at its last one', () => {
  const steps = fc.array(fc.nat(9), { minLength: 50, maxLength: 300 });
  fc.assert(
    fc.property(steps, (arrivals) => {
      const queue = queueOf();
      const waiting = new Map<number, number>();
      /** The starts that a key may still wait for. */
      const due = new Map<number, number>();
      let next = 100;
      for (const arrival of arrivals) {
        // Often a new key, sometimes one of five that come back.
        for (const key of arrival < 7 ? [next++, next++, arrival % 5] : [arrival % 5]) {
          add(queue, key);
          waiting.set(key, (waiting.get(key) ?? 0) + 1);
          if (!due.has(key)) due.set(key, waiting.size);
        }
        const served = Number(queue.take()?.key);
        let overdue = 0;
        for (const [key, left] of due) {
          if (key !== served && left <= 1) overdue++;
          due.set(key, left - 1);
        }
        expectSame(overdue, 0);
        const left = (waiting.get(served) ?? 0) - 1;
        due.delete(served);
        waiting.set(served, left);
        if (left === 0) waiting.delete(served);
        else due.set(served, waiting.size);
      }
    }),
  );
});

it('gains nothing for a key that comes back after each start', () => {
  const queue = queueOf({ b: 2 });
  add(queue, 'a');
  add(queue, 'b', { times: 300 });
  const started: Item[] = [];
  for (let start = 0; start < 150; start++) {
    const [item] = take(queue, 1) as [Item];
    started.push(item);
    if (item.key === 'a') add(queue, 'a');
  }
  expect(count(started)).toEqual({ a: 50, b: 100 });
});

it('keeps turns fair while thousands of keys come and go', () => {
  const queue = queueOf();
  add(queue, 'flood', { times: 100_000 });
  for (let key = 0; key < 20_000; key++) {
    add(queue, key);
    take(queue, 2);
  }
  expect(queue.length).toBe(80_000);
  expect(count(take(queue, 10))).toEqual({ flood: 10 });
});

interface Step extends Linked<Step> {
  readonly step: number;
}

it('has rows that add at one end and remove anywhere, like an array', () => {
  const row = new Row<Step>();
  const array: Step[] = [];
  const removed = (item: Step | undefined) => {
    if (item !== undefined) row.remove(item);
    return item;
  };
  let random = 1;
  for (let step = 0; step < 20_000; step++) {
    random = (random * 48_271) % 2_147_483_647;
    const isGrowing = step % 8000 < 5000;
    if (random % 3 === 0 && isGrowing) expectSame(removed(row.tail), array.pop());
    else if (random % 3 === 0 || !isGrowing) expectSame(removed(row.head), array.shift());
    else {
      const item: Step = { step, ahead: undefined, behind: undefined };
      row.add(item);
      array.push(item);
    }
    if (random % 97 === 0) removed(array.splice(array.length >> 1, 1)[0]);
    expectSame(row.length, array.length);
    expectSame(row.head, array[0]);
    expectSame(row.tail, array.at(-1));
  }
});

const TENANTS = ['one', 'two', 'four'] as const;
const WEIGHTS = { one: 1, two: 2, four: 4 };
type Tenant = (typeof TENANTS)[number];

/** Keeps `depth` calls of each tenant waiting, and counts the starts. */
async function sharesOf(depths: Record<Tenant, number>, steps: number) {
  const { clock, limiter } = bucketOf(1000, 10, 0);
  const semaphore = Semaphore.create({ permits: 8, clock });
  const starts = { one: 0, two: 0, four: 0 };
  const waiting = { one: 0, two: 0, four: 0 };
  const call = throttled(
    (tenant: Tenant) => {
      starts[tenant]++;
      waiting[tenant]--;
    },
    { limiter, semaphore, key: (tenant) => tenant, weights: WEIGHTS },
  );
  const fill = () => {
    for (const tenant of TENANTS) {
      for (; waiting[tenant] < depths[tenant]; waiting[tenant]++) void call(tenant);
    }
  };
  fill();
  for (let step = 0; step < steps; step++) {
    clock.advance(1);
    await settled(3);
    fill();
  }
  return starts;
}

it('keeps shares of 1 : 2 : 4 within 2 % while one tenant floods', async () => {
  const starts = await sharesOf({ one: 5000, two: 20, four: 20 }, 2100);
  const total = starts.one + starts.two + starts.four;
  expect(total).toBeGreaterThan(2000);
  for (const tenant of TENANTS) {
    const share = (WEIGHTS[tenant] / 7) * total;
    expect(Math.abs(starts[tenant] - share) / share).toBeLessThan(0.02);
  }
});

it('gives a tenant that asks for less than its share all it asks for', async () => {
  const starts = await sharesOf({ one: 5000, two: 0, four: 20 }, 1000);
  expect(starts.two).toBe(0);
  expect(starts.four / starts.one).toBeCloseTo(4, 1);
});
