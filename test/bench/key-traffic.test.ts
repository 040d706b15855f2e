import { expect, test } from 'vitest';
import { FRESH, KEPT, keysOfTask, TRAFFICS } from '../../bench/key-traffic.ts';

const KEYS = 100;

function take(count: number, next: () => string): string[] {
  return Array.from({ length: count }, next);
}

function trafficOf(kind: string) {
  const traffic = TRAFFICS.find((one) => one.kind === kind);
  if (traffic === undefined) throw new Error(`there is no traffic of ${kind}`);
  return traffic;
}

test('hits ask for every known key once before one comes again, in random order', () => {
  for (const traffic of [KEPT, FRESH]) {
    const { known, next } = keysOfTask({ traffic, keys: KEYS, thread: 0 });
    const round = take(KEYS, next);
    expect(new Set(round)).toEqual(new Set(known));
    expect(new Set(round).size).toBe(KEYS);
    expect(round).not.toEqual(round.toSorted());
    expect(take(KEYS, next)).toEqual(round);
    expect(round[0]).toHaveLength(20);
  }
});

test('two threads ask for the same known keys in different orders', () => {
  const [one, two] = [0, 1].map((thread) => keysOfTask({ traffic: KEPT, keys: KEYS, thread }));
  expect(two?.known).not.toEqual(one?.known);
  expect(two?.known.toSorted()).toEqual(one?.known.toSorted());
});

test.each(['new', 'flood'])('%s keys never come again, in any thread', (kind) => {
  const traffic = trafficOf(kind);
  const keys = [0, 1].flatMap((thread) =>
    take(3 * KEYS, keysOfTask({ traffic, keys: KEYS, thread }).next),
  );
  expect(new Set(keys).size).toBe(6 * KEYS);
});

test('half of the keys that churn are hits', () => {
  const { next } = keysOfTask({ traffic: trafficOf('churn'), keys: KEYS, thread: 0 });
  const keys = take(4 * KEYS, next);
  expect(keys.filter((key) => key.startsWith('user-'))).toHaveLength(2 * KEYS);
  expect(new Set(keys).size).toBe(3 * KEYS);
});
