import { describe, expect, test } from 'vitest';
import { leaveFleet } from '../../../src/host/recovery.ts';
import { Region } from '../../../src/index.ts';
import { Stock } from '../../../src/integrations/redis/fleet/stock.ts';
import { FleetBucket, FleetSpender } from '../../../src/integrations/redis.ts';
import {
  FLEET_CELL,
  FLEET_MEMBER,
  FLEET_MEMBER_BYTES,
  FLEET_STOCK,
  LEADER_ENTRY_BITS,
  LEADER_STATE_BITS,
} from '../../../src/memory/layout/fleet.ts';
import { addDouble, loadDouble, raiseDouble } from '../../../src/memory/shared-double.ts';
import { type Sharing, sharingOf } from '../../../src/memory/sharing.ts';
import { until } from '../../support/settled.ts';

/** The entry of another process. */
const OTHER = 5;
const SIZE = 100;

/** A fleet bucket with 20 tokens in stock, and another process that waits for 30. */
class Shared {
  readonly region = Region.create();
  readonly returned: number[] = [];
  isHeld = false;
  calls = 0;

  async open(): Promise<FleetBucket> {
    const source = {
      consumeOrDrain: async () => {
        if (this.calls++ === 0) return 20;
        return this.isHeld ? new Promise<number>(() => undefined) : 0;
      },
      returnTokens: async (n: number) => void this.returned.push(n),
    };
    const options = { source, stock: SIZE, minStock: 20, maxAgeMs: Number.POSITIVE_INFINITY };
    return FleetBucket.open(this.region, 'hot', options);
  }

  /** Byte offset of a member's field. */
  at({ handle }: FleetSpender, entry: number, field: number): number {
    return (handle.offset ?? 0) + FLEET_CELL.members + entry * FLEET_MEMBER_BYTES + field;
  }

  waitElsewhere(fleet: FleetSpender): void {
    const { atUs } = Stock.open(fleet.handle).reserve(30);
    raiseDouble(this.region.i64, this.at(fleet, OTHER, FLEET_MEMBER.until) >> 3, atUs);
    addDouble(this.region.i64, this.at(fleet, OTHER, FLEET_MEMBER.waiting) >> 3, 30);
  }

  endElsewhere({ handle }: FleetSpender): void {
    expect(leaveFleet(this.region, handle.offset ?? 0, OTHER)).toBe(30);
  }
}

describe('the tokens for which an ended process waited', () => {
  test('are passed on while a purchase takes long', async () => {
    const shared = new Shared();
    const fleet = await shared.open();
    shared.isHeld = true;
    shared.waitElsewhere(fleet);
    const { calls } = shared;
    const wait = fleet.wait(5);
    await until(() => shared.calls > calls, 'the source is asked');
    shared.endElsewhere(fleet);
    await wait;
    expect(fleet.available()).toBe(15);
  });

  test('are passed on by those who wait if the buyer does nothing', async () => {
    const shared = new Shared();
    const fleet = await shared.open();
    shared.waitElsewhere(fleet);
    await fleet.standDown();
    const spender = FleetSpender.attach(fleet.handle);
    const wait = spender.wait(5);
    shared.endElsewhere(fleet);
    await wait;
    expect(spender.available()).toBe(15);
    await fleet.close();
    expect(shared.returned).toEqual([15]);
  });

  test('are returned if all others have closed the fleet bucket', async () => {
    const shared = new Shared();
    const fleet = await shared.open();
    shared.waitElsewhere(fleet);
    await fleet.standDown();
    shared.endElsewhere(fleet);
    await fleet.close();
    expect(shared.returned).toEqual([20]);
  });
});

test('a thread that shares an entry changes nothing of its member, and is no sign of its buyer', async () => {
  const shared = new Shared();
  const { region } = shared;
  const { i32, i64 } = region;
  const own: Sharing = {
    ...{ path: '/none', process: 3, opener: 3 },
    ...{ hasEnded: () => false, recoverEnded: () => undefined },
  };
  sharingOf.set(region.memory, own);
  const fleet = await shared.open();
  const [buckets, waiting] = [FLEET_MEMBER.buckets, FLEET_MEMBER.waiting].map((field) =>
    shared.at(fleet, 3, field),
  ) as [number, number];
  // The process waits too, in a thread of its own.
  addDouble(i64, waiting >> 3, 50);
  await expect(fleet.wait(60, { timeoutMs: 0 })).rejects.toThrow();
  const abort = new AbortController();
  const waits = [fleet.wait(60, { signal: abort.signal }), fleet.wait(1)];
  abort.abort('enough');
  await expect(waits[0]).rejects.toBe('enough');
  fleet.returnTokens(60);
  await waits[1];
  expect(loadDouble(i64, waiting >> 3)).toBe(50);
  expect(Atomics.load(i32, buckets >> 2)).toBe(0);
  const word = Atomics.load(i32, ((fleet.handle.offset ?? 0) + FLEET_STOCK.buyer) >> 2);
  expect((word >> LEADER_STATE_BITS) % 2 ** LEADER_ENTRY_BITS).toBe(0);
  // It can't be told from a thread that has ended, nor replaced before it is silent.
  for (const process of [3, 4]) {
    sharingOf.set(region.memory, { ...own, process, hasLeft: () => false });
    const stock = Stock.open(fleet.handle);
    expect([stock.leader.doesBuyerRun, stock.mayBeFilled]).toEqual([undefined, false]);
  }
  sharingOf.set(region.memory, own);
  await fleet.close();
  expect(Atomics.load(i32, buckets >> 2)).toBe(0);
});
