import { describe, expect, it } from 'vitest';
import { explore, exploreStops, pairs, subjectModule } from './explore.ts';
import type { Operation } from './subject.ts';

/** A bucket at 1/s that holds 2 of 3 tokens: small enough that operations get in each other's way. */
const BUCKET = { module: subjectModule('bucket'), setup: '1 3 2' };

const OPERATIONS = {
  acquire: ['acquire', 1, 0],
  'a stale acquire': ['acquire', 1, 0, -500_000],
  borrow: ['acquire', 2, 1e9],
  drain: ['drain', 5],
  refund: ['refund', 1],
  reconfigure: ['reconfigure', 4, 8],
  'an acquire that renews the record': ['acquire', 1, 0, 2e12],
  balance: ['balance'],
} satisfies Record<string, Operation>;

/** Those that take few steps, so that two of each are soon explored. */
const { acquire, borrow, drain, refund } = OPERATIONS;
const QUICK = { acquire, borrow, drain, refund, 'a stale acquire': OPERATIONS['a stale acquire'] };

const THEN_CANCEL: Operation[] = [borrow, ['cancel']];

describe('in every interleaving of a bucket, each operation happens at one instant:', () => {
  it.each(pairs(OPERATIONS))('%s', async (_, a, b) => {
    const { violations } = await explore({ ...BUCKET, threads: [[a], [b]] });
    expect(violations).toEqual([]);
  });

  it.each(pairs(QUICK))('%s, each after an acquire', async (_, a, b) => {
    const threads = [
      [acquire, a],
      [acquire, b],
    ];
    const { violations } = await explore({ ...BUCKET, threads });
    expect(violations).toEqual([]);
  });

  it.each(Object.entries(OPERATIONS))('borrow and cancel, and %s', async (_, operation) => {
    const { violations } = await explore({ ...BUCKET, threads: [THEN_CANCEL, [operation]] });
    expect(violations).toEqual([]);
  });

  it('borrow and cancel, twice', async () => {
    const { violations } = await explore({ ...BUCKET, threads: [THEN_CANCEL, THEN_CANCEL] });
    expect(violations).toEqual([]);
  });

  it.each<[string, ...Operation[]]>([
    ['acquire, acquire and acquire', acquire, acquire, acquire],
    ['acquire, borrow and drain', acquire, borrow, drain],
    ['acquire, refund and drain', acquire, refund, drain],
    ['acquire, refund and reconfigure', acquire, refund, OPERATIONS.reconfigure],
  ])('%s', async (_, ...operations) => {
    const threads = operations.map((operation) => [operation]);
    const { violations, interleavings } = await explore({ ...BUCKET, threads });
    expect(violations).toEqual([]);
    expect(interleavings).toBeGreaterThan(10);
  });
});

describe('a thread that is stopped for ever before any of its steps leaves a bucket that works:', () => {
  it.each(Object.entries(OPERATIONS))('%s', async (_, operation) => {
    const threads = [[operation], [acquire, drain]];
    const { stops, violations } = await exploreStops({ ...BUCKET, threads });
    expect(violations).toEqual([]);
    expect(stops).toBeGreaterThanOrEqual(2);
  });

  it('borrow, and the others can reconfigure', async () => {
    const threads = [[borrow], [OPERATIONS.reconfigure]];
    const { stops, violations } = await exploreStops({ ...BUCKET, threads });
    expect(violations).toEqual([]);
    expect(stops).toBeGreaterThanOrEqual(2);
  });
});
