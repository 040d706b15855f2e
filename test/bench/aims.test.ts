import { expect, test } from 'vitest';
import { CALL_AIMS } from '../../bench/aims.ts';

import { PEERS } from '../../bench/parts/threads.ts';
import { FULL } from '../../bench/settings.ts';
import { VARIANTS } from '../../bench/variants.ts';

test('all peers and variants have different names', () => {
  const names = PEERS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining(VARIANTS.map(({ name }) => name)));
});

test.each(CALL_AIMS)(
  'the aim of $variant compared with $peer ($load.name, $threads threads) refers to a measurement',
  ({ variant, peer, load, threads, atMost, timesFaster }) => {
    expect(VARIANTS.map(({ name }) => name)).toContain(variant);
    expect(FULL.loads).toContain(load);
    expect(FULL.threadCounts).toContain(threads);
    const measured = PEERS.find(({ name }) => name === peer);
    expect(measured?.mostThreads).toBeGreaterThanOrEqual(threads);
    expect([atMost, timesFaster].filter((bound) => bound !== undefined)).toHaveLength(1);
  },
);
