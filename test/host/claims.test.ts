import { expect, test } from 'vitest';
import { TokenBucket } from '../../src/index.ts';
import { BUCKET } from '../../src/memory/layout.ts';
import { claimedAt } from '../support/cell.ts';
import { ask, hostRegion, startProcesses } from '../support/host.ts';
import { part } from '../support/random.ts';

/** In full more than a limiter has records. */
const KILLS = part(9, 1);

test.each(['word', 'release'] as const)(
  'processes that are killed at the %s in reconfigure keep no configuration record for good',
  async (stall) => {
    const region = hostRegion();
    const bucket = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 100 });
    const { offset } = bucket.handle;
    for (let i = 1; i <= KILLS; i++) {
      const [child] = await startProcesses('host-user', 1);
      if (child === undefined) throw new Error('no process');
      // From the eighth on, once a second has passed without a change.
      await ask(child, { stall, path: region.path, burst: 100 + i });
      child.kill('SIGKILL');
      while (region.processes().length > 1) await new Promise(setImmediate);
      expect(claimedAt(region.buffer, offset + BUCKET.claims)).not.toBe(0);
      // Before the exchange of the word the limit has not changed; after it, it has.
      expect(bucket.burst).toBe(stall === 'word' ? 100 : 100 + i);
    }
    bucket.reconfigure({ burst: 120 });
    expect(bucket.burst).toBe(120);
  },
);
