import { describe, expect, it } from 'vitest';
import { explore, exploreStops, subjectModule } from './explore.ts';
import type { Operation } from './subject.ts';

const SPEND: Operation = ['spend', 1];
const RELEASE: Operation = ['release'];
const RECONFIGURE: Operation = ['reconfigure', 1, 3];

// Of twelve tokens a lease takes six, so that a reconfiguration to three cuts what it gives back.
const BUCKET = { module: subjectModule('lease'), setup: '12' };

describe('in every interleaving of leases, what is spent is what was taken:', () => {
  it('two leases that take, spend and give back', async () => {
    const threads = [
      [SPEND, RELEASE],
      [SPEND, RELEASE],
    ];
    const { violations, interleavings } = await explore({ ...BUCKET, threads });
    expect(violations).toEqual([]);
    expect(interleavings).toBeGreaterThan(10);
  });

  it.each<[string, Operation[]]>([
    ['is taken', [SPEND, RELEASE]],
    ['is spent', [SPEND, SPEND, RELEASE]],
  ])('a reconfiguration while a stock %s', async (_, operations) => {
    const threads = [operations, [RECONFIGURE]];
    const { violations, interleavings } = await explore({ ...BUCKET, threads });
    expect(violations).toEqual([]);
    expect(interleavings).toBeGreaterThan(10);
  });
});

it('a reconfiguration that is stopped for ever before any of its steps is noticed, if it happened', async () => {
  const threads = [[RECONFIGURE], [SPEND, SPEND, RELEASE]];
  const { stops, violations } = await exploreStops({ ...BUCKET, threads });
  expect(violations).toEqual([]);
  expect(stops).toBeGreaterThanOrEqual(5);
});
