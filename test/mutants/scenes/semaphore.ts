import { createSemaphoreCell } from '../../../src/kernel/semaphore/cell.ts';
import { HostedSemaphore, type Waiter } from '../../../src/kernel/semaphore/host.ts';
import { Owners, type SemaphoreEngine } from '../../../src/kernel/semaphore/owners.ts';
import type { Random } from '../../support/random.ts';
import type { Recorder } from '../recorder.ts';
import { Rehearsal, regionOf, type Step } from '../rehearsal.ts';

/** Owners of threads that have not ended; more are born if some die. */
const OWNERS = 255;

/** Random calls of a semaphore with few waiters. */
export function semaphoreScene(recorder: Recorder, random: Random, calls: number): void {
  const region = regionOf(recorder);
  const waiters = random.pick([2, 4, 8, 8]);
  const holdMs = random.pick([0, 0, 5]);
  const maxPermits = random.pick([6, 65_535]);
  const permits = random.pick([0, 1, 3, 6, maxPermits]);
  const originUs = random.pick([0, 1e12]);
  const adapts = random.below(2);
  const state = { number: permits, needed: random.pick([1, 3]), span: random.pick([0, 2]) };
  const adaptive = { adapts: 1, window: { min: 1, max: maxPermits, state } };
  const place = createSemaphoreCell({
    ...{ permits, waiters, maxPermits, holdMs, originUs, stats: false, region },
    ...(adapts === 1 && { adaptive }),
  });
  let nowUs = originUs;
  const now = () => nowUs;
  const engines = new Map<HostedSemaphore, SemaphoreEngine>();
  const held: Waiter[] = [];
  const queued: Waiter[] = [];

  const next = (): Step<HostedSemaphore> => {
    nowUs += random.pick([0, 0, 100, 1000, 6000]);
    const n = random.pick([1, 1, 2, 3, permits, maxPermits]) || 1;
    const waiter = random.pick([held, queued]).at(-1 - random.below(4));
    switch (random.below(16 + 4 * adapts)) {
      case 0:
      case 1:
      case 2:
        return (semaphore) => {
          const taken = semaphore.take(n);
          if (taken === undefined) return;
          held.push(taken);
          if (holdMs > 0) semaphore.hold(taken, now);
        };
      case 3:
      case 4:
        return (semaphore) => {
          const joined = semaphore.join(n);
          if (joined !== undefined) queued.push(joined);
          semaphore.serve();
        };
      case 5:
      case 6:
      case 7:
        return (semaphore) => waiter && semaphore.release(waiter);
      case 8:
        return (semaphore) => waiter && semaphore.leave(waiter);
      case 9:
        return (semaphore) => waiter && [semaphore.isGranted(waiter), semaphore.isVacated(waiter)];
      case 10: {
        const to = random.pick([0, 1, 2, permits, maxPermits]);
        return (semaphore) => semaphore.change(to);
      }
      case 11:
        return (semaphore) => {
          semaphore.look();
          return semaphore.hasRoom;
        };
      case 12:
        return (semaphore) => semaphore.waiting;
      case 13: {
        const owner = 1 + random.below(engines.size);
        return (semaphore) => {
          engines.get(semaphore)?.semaphoreOwns(place.offset, waiters, owner);
          engines.get(semaphore)?.semaphoreRecover(place.offset, waiters, owner);
          semaphore.serve();
        };
      }
      case 14:
        return (semaphore) => semaphore.expire(now);
      case 16: {
        const sinceUs = nowUs - random.pick([0, 1, 1000, 1e6, 1e10]);
        return (semaphore) => semaphore.latencyWindow().add(sinceUs, nowUs, n);
      }
      case 17:
        return (semaphore) => semaphore.latencyWindow().drop(nowUs);
      case 18: {
        const field = random.pick(['number', 'least', 'needed', 'span', 'latency'] as const);
        const value = random.pick([0, 1, 2, 3]);
        return (semaphore) => {
          const window = semaphore.latencyWindow();
          const closed = window.close(nowUs);
          if (closed !== undefined) window.put(field, value);
          return closed;
        };
      }
      case 19: {
        const field = random.pick(['number', 'least', 'needed', 'latency'] as const);
        return (semaphore) => {
          const window = semaphore.latencyWindow();
          return [window.value(field), window.dropped];
        };
      }
      default:
        return (semaphore) => {
          semaphore.serve();
          engines.get(semaphore)?.failedExchanges();
        };
    }
  };
  const { event } = new Owners(place, () => undefined);
  const nothing = () => undefined;
  const open = (thread: number) => {
    const engine = recorder.engine('semaphores', thread) as unknown as SemaphoreEngine;
    const claim = () => 1 + (thread % OWNERS);
    const [wake, leave] = [nothing, nothing];
    const ownership = { claim, event, wake, wakeAll: nothing, leave, free: nothing };
    const semaphore = new HostedSemaphore({ engine, name: 'wasm' }, place, ownership);
    engines.set(semaphore, engine);
    return semaphore;
  };
  new Rehearsal(recorder, random, open).run(calls, next);
}
