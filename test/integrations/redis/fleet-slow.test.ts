import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { FleetSpender } from '../../../src/integrations/redis.ts';
import {
  FLEET_CELL,
  FLEET_MEMBER,
  FLEET_MEMBER_BYTES,
  FLEET_STOCK,
  LEADER_STATE_BITS,
  LEADER_VACANT,
} from '../../../src/memory/layout/fleet.ts';
import { until } from '../../support/settled.ts';
import { CLOSED } from './fleet-source.ts';
import { HostFleet, result, STOCK } from './host-fleet.ts';

/** More looks of a waiting thread than it takes to give up a buyer that has ended. */
const LOOKS = 8;

/** Stops a process, which keeps its locks but does nothing. */
async function stop(child: ChildProcess): Promise<void> {
  onTestFinished(() => void child.kill('SIGCONT'));
  child.kill('SIGSTOP');
  const isStopped = () => / T \d/.test(readFileSync(`/proc/${child.pid}/stat`, 'latin1'));
  await until(isStopped, 'the process is stopped');
}

/** Begins to wait in this thread, which has no source, for tokens that somebody has to buy. */
function starve(spender: FleetSpender): { readonly wait: Promise<unknown>; isOver: boolean } {
  while (spender.consumeOrDrain(STOCK) > 0);
  const starved = { wait: spender.wait(STOCK), isOver: false };
  const end = () => {
    starved.isOver = true;
  };
  starved.wait.then(end, end);
  return starved;
}

/** Resolves after the waiting thread has looked for a buyer so often that it would have given up. */
async function manyLooks(fleet: HostFleet, { handle }: FleetSpender): Promise<void> {
  const word = (field: number) =>
    Atomics.load(fleet.region.i32, ((handle.offset ?? 0) + field) >> 2);
  const isVacant = () => word(FLEET_STOCK.buyer) % 2 ** LEADER_STATE_BITS === LEADER_VACANT;
  await until(isVacant, 'there is no leader');
  // Each look fires the event, and nobody else is left who could.
  const fired = word(FLEET_STOCK.event);
  await until(() => word(FLEET_STOCK.event) >= fired + LOOKS, 'many looks');
}

describe('a wait without a source', () => {
  test('outlasts the silence of a buyer whose process is stopped, but not its end', async () => {
    const fleet = new HostFleet();
    const buyer = await fleet.addOne();
    const spender = await fleet.spender();
    await stop(buyer);
    const starved = starve(spender);
    await manyLooks(fleet, spender);
    expect(starved.isOver).toBe(false);
    buyer.kill('SIGCONT');
    await starved.wait;
    expect(fleet.buyer).toBe(buyer);

    await stop(buyer);
    const last = starve(spender);
    await manyLooks(fleet, spender);
    expect(last.isOver).toBe(false);
    await fleet.kill(buyer);
    await expect(last.wait).rejects.toMatchObject(CLOSED);
    await until(() => fleet.region.recovered().processes === 1, 'the sweep');
    // The next process with its entry has never bought.
    expect(fleet.buyerEntry).toBe(0);
  });

  test('outlasts the silence of a buyer that only attached with a source', async () => {
    const fleet = new HostFleet();
    const buyer = await fleet.addOne();
    const spender = await fleet.spender();
    await stop(buyer);
    // Only a fleet bucket is a member.
    const member = FLEET_CELL.members + fleet.buyerEntry * FLEET_MEMBER_BYTES;
    const buckets = ((spender.handle.offset ?? 0) + member + FLEET_MEMBER.buckets) >> 2;
    expect(Atomics.exchange(fleet.region.i32, buckets, 0)).toBe(1);
    const starved = starve(spender);
    await manyLooks(fleet, spender);
    expect(starved.isOver).toBe(false);
    Atomics.store(fleet.region.i32, buckets, 1);
    buyer.kill('SIGCONT');
    await starved.wait;
  });

  test('outlasts the silence of the successor of a buyer that has closed', async () => {
    const fleet = new HostFleet();
    const [buyer, successor] = await fleet.addTwo();
    const spender = await fleet.spender();
    await stop(successor);
    await result(buyer, { close: true });
    const starved = starve(spender);
    await manyLooks(fleet, spender);
    expect(starved.isOver).toBe(false);
    successor.kill('SIGCONT');
    await starved.wait;
    expect(fleet.buyer).toBe(successor);
    await result(successor, { close: true });
    // Both processes still run, but nobody buys any more.
    await expect(starve(spender).wait).rejects.toMatchObject(CLOSED);
  });
});
