import { expect, test } from 'vitest';
import { createSemaphoreCell } from '../../src/kernel/semaphore/cell.ts';
import { HostedSemaphore, type Waiter } from '../../src/kernel/semaphore/host.ts';
import { Owners, semaphores } from '../../src/kernel/semaphore/owners.ts';
import { Region } from '../../src/limiters/region.ts';
import { type Asked, SemaphoreOracle } from '../oracle/semaphore.ts';
import { part, Random, SEED } from '../support/random.ts';

const OWNERS = [1, 2, 3] as const;
const MAX_PERMITS = 12;
const CALLS = part(2000, 400);

/** A semaphore with both targets on the same words, one host for each of three owners and each target. */
function hosts(permits: number): HostedSemaphore[][] {
  const region = Region.create();
  const shared = { maxPermits: MAX_PERMITS, holdMs: 0, originUs: 0, stats: false, region };
  const place = createSemaphoreCell({ permits, ...shared });
  return (['wasm', 'atomics'] as const).map((kernel) =>
    OWNERS.map((owner) => {
      const owners = Object.assign(new Owners(place, () => undefined), { claim: () => owner });
      return new HostedSemaphore(semaphores.openShared(region, kernel), place, owners);
    }),
  );
}

test(`random calls of three owners give what the reference gives, with either target (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const happened = new Set<string>();
  for (let run = 0; run < part(300, 30); run++) {
    const permits = random.below(MAX_PERMITS + 1);
    const targets = hosts(permits);
    const reference = new SemaphoreOracle(permits);
    const asked: [waiter: Waiter, asked: Asked][] = [];
    for (let call = 0; call < CALLS; call++) {
      const owner = random.pick(OWNERS);
      const host = random.pick([targets[0] ?? [], targets[1] ?? []])[owner - 1];
      if (host === undefined) throw new Error('three owners have a host');
      const n = 1 + random.below(4);
      const at = random.below(Math.max(1, asked.length));
      const [waiter, one] = asked[at] ?? [];
      const what = random.below(10);
      // An `expect` for each would take most of the time.
      const same = (result: number | boolean, expected: number | boolean, name: string) => {
        if (result !== expected) {
          expect(result, `${name}, call ${call} of run ${run}`).toBe(expected);
        }
      };
      const told = (result: boolean, expected: boolean, name: string) => {
        same(result, expected, name);
        happened.add(`${name} ${result}`);
      };
      if (what < 3) {
        const [taken, expected] = [host.take(n), reference.take(owner, n)];
        told(taken !== undefined, expected !== undefined, 'take');
        if (taken !== undefined && expected !== undefined) asked.push([taken, expected]);
      } else if (what < 5 && reference.queue.length < 20) {
        const joined = host.join(n);
        const expected = reference.join(owner, n);
        host.serve();
        if (joined === undefined) throw new Error('the queue has room');
        asked.push([joined, expected]);
        told(host.isGranted(joined), reference.isGranted(expected), 'join');
      } else if (what < 8 && waiter !== undefined && one !== undefined) {
        const isGranted = reference.isGranted(one);
        told(host.isGranted(waiter), isGranted, 'granted');
        if (isGranted) told(host.release(waiter), reference.release(one), 'release');
        else told(host.leave(waiter), reference.leave(one), 'leave');
        // Seldom again: a second return must fail.
        if (random.below(4) > 0) asked.splice(at, 1);
      } else if (what === 8) {
        const to = random.below(MAX_PERMITS + 1);
        host.change(to);
        reference.change(to);
      }
      const { permits, available } = host.look();
      same(permits, reference.permits, 'permits');
      same(available, reference.available, 'available');
      same(host.waiting, reference.queue.length, 'waiting');
    }
  }
  expect([...happened].sort()).toEqual([
    'granted false',
    'granted true',
    'join false',
    'join true',
    'leave true',
    'release true',
    'take false',
    'take true',
  ]);
});

test('a stale release never takes the permit of the next owner', () => {
  const [host] = hosts(1)[0] ?? [];
  const first = host?.take(1);
  if (host === undefined || first === undefined) throw new Error('a permit is there');
  expect(host.release(first)).toBe(true);
  const second = host.take(1);
  expect(host.release(first)).toBe(false);
  expect(host.look()).toEqual({ permits: 1, available: 0 });
  expect(second !== undefined && host.release(second)).toBe(true);
});
