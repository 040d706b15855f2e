import { describe, expect, test } from 'vitest';
import type { BucketLimit, ContinuousLimit, SeveralLimits } from '../../../src/index.ts';
import { LATER, NEVER } from '../../../src/kernel/bucket/kernel.ts';
import {
  casesFor,
  type Decider,
  type DecisionCase,
  decided,
} from '../../support/decision-cases.ts';
import { remote } from './connections.ts';
import { LACKS_REDIS } from './server.ts';
import { connectionOfTest, serverOfSuite } from './suite-server.ts';

/** Microseconds of the Unix epoch, as a server counts them. */
const START_US = 1_705_509_033_000_000;

describe.skipIf(LACKS_REDIS)('a bucket on a server decides as the table says:', () => {
  const connection = connectionOfTest(serverOfSuite());

  async function decidedBy(key: string, row: DecisionCase, limit: BucketLimit | SeveralLimits) {
    let nowUs = START_US;
    const clock = {
      advance(ms: number) {
        nowUs += ms * 1000;
      },
    };
    const bucket = remote(connection, limit, () => nowUs, key);
    const decider: Decider = {
      async take(n, maxWaitMs) {
        const { waitUs } = await bucket.acquire(n, maxWaitMs * 1000);
        if (waitUs === LATER) return 'later';
        return waitUs === NEVER ? 'never' : waitUs / 1000;
      },
      balance: () => bucket.balance(),
    };
    return decided(row, clock, decider);
  }

  test.each(casesFor('redis'))('%s', async (key, row) => {
    const { outcome, balance } = row;
    expect(await decidedBy(key, row, row.limit)).toEqual({ outcome, balance });
  });

  const continuous = casesFor('redis').filter(([, { limit }]) => 'rate' in limit);
  const unlimited = { rate: Number.POSITIVE_INFINITY, burst: Number.POSITIVE_INFINITY };
  test.each(continuous)('%s, as one of several limits', async (key, row) => {
    const { outcome, balance } = row;
    const limit = row.limit as ContinuousLimit;
    for (const limits of [
      [limit, limit],
      [unlimited, limit],
      [limit, unlimited, limit],
    ]) {
      const name = `${key} of ${limits.length}, ${limits.indexOf(limit)}`;
      expect(await decidedBy(name, row, { limits })).toEqual({ outcome, balance });
    }
  });
});
