import {
  configurationOf,
  createSemaphoreCell,
  openSemaphoreCell,
} from '../../src/kernel/semaphore/cell.ts';
import { HostedSemaphore, type Ownership, type Waiter } from '../../src/kernel/semaphore/host.ts';
import { Owners, type SemaphoreEngine } from '../../src/kernel/semaphore/owners.ts';
import { Region } from '../../src/limiters/region.ts';
import { type CellPlace, nonceOf } from '../../src/memory/cell.ts';
import { REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { ALIVE, DEAD, parseSetup } from './semaphore-reference.ts';
import { operations, type Subject } from './subject.ts';

export { reference } from './semaphore-reference.ts';

/** More than all callers of a scenario ask for. */
const MANY = 100;

/** When permits are granted, and long after they are due. */
const GRANTED_US = 0;
const OVERDUE_US = 1e9;

/** `setup` as for {@link parseSetup}. */
export function create(setup: string): SharedArrayBuffer {
  const { permits, waiters, steps } = parseSetup(setup);
  const region = Region.create({ buffer: new SharedArrayBuffer(4096) });
  const holdMs = steps.some(([step]) => step === 'd') ? 1000 : 0;
  const shared = { maxPermits: MANY, holdMs, originUs: GRANTED_US, stats: false, region };
  createSemaphoreCell({ permits, waiters, ...shared });
  const dead = open(region.buffer, DEAD).host;
  for (const [step, n] of steps) {
    const waiter = step === 'q' ? dead.join(n) : dead.take(n);
    if (step === 'd' && waiter !== undefined) dead.hold(waiter, () => GRANTED_US);
    dead.serve();
  }
  return region.buffer;
}

interface Open {
  readonly engine: SemaphoreEngine;
  readonly waiters: number;
  readonly host: HostedSemaphore;
}

function open(buffer: SharedArrayBuffer, owner: number, kernel: ExploredKernel = 'atomics'): Open {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  const place = openSemaphoreCell(region, offset, 'semaphore', nonce);
  const opened = exploredEngine<SemaphoreEngine>('semaphores', kernel, region);
  const { waiters } = configurationOf(place);
  return {
    engine: opened.engine,
    waiters,
    host: new HostedSemaphore(opened, place, asleep(place, owner)),
  };
}

/** No thread sleeps in the explorer, so none is woken. */
function asleep(place: CellPlace, owner: number): Ownership {
  const { event } = new Owners(place, () => undefined);
  const nothing = () => undefined;
  const others = { leave: nothing, free: nothing };
  return { claim: () => owner, event, wake: nothing, wakeAll: nothing, ...others };
}

/** Recovers the waiters of an owner, without its entry: no thread of the explorer has one. */
function recover({ engine, waiters, host }: Open, owner: number): number {
  const returned = engine.semaphoreRecover(REGION_HEADER_BYTES, waiters, owner);
  host.serve();
  return returned;
}

export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const opened = open(buffer, ALIVE, kernel);
  const { engine, waiters, host } = opened;
  let last: Waiter | undefined;
  return operations({
    take(n = 1) {
      last = host.take(n) ?? last;
      return last !== undefined && host.isGranted(last);
    },
    join(n = 1) {
      last = host.join(n);
      if (last === undefined) throw new Error('the queue has no room');
      host.serve();
      return host.isGranted(last);
    },
    granted: () => last !== undefined && host.isGranted(last),
    vacated: () => last !== undefined && host.isVacated(last),
    leave: () => last !== undefined && host.leave(last),
    release: () => last !== undefined && host.release(last),
    change(permits = 1) {
      if (!host.change(permits)) throw new Error('no waiter is free');
    },
    look() {
      const { permits, available } = host.look();
      return [permits, available];
    },
    hasRoom: () => host.hasRoom,
    owns: (by = ALIVE) => engine.semaphoreOwns(REGION_HEADER_BYTES, waiters, by) !== 0,
    recover: () => recover(opened, DEAD),
    expire: () => void host.expire(() => OVERDUE_US),
  });
}

/**
 * The permits, the waiting callers, and the permits that come back when all threads have ended:
 * exactly all.
 */
export function observe(buffer: SharedArrayBuffer): unknown {
  const opened = open(buffer, ALIVE);
  const { host } = opened;
  // As any later call would; a thread may have been stopped before it did.
  host.serve();
  const { permits, available } = host.look();
  const queue = queueOf(buffer.slice());
  const returned = [recover(opened, ALIVE), recover(opened, DEAD)];
  const { available: left } = host.look();
  return { permits, available, queue, returned, left };
}

/** Serves the queue of a copy of the memory, to see its order. */
function queueOf(copy: SharedArrayBuffer): [owner: number, n: number][] {
  const { engine, waiters } = open(copy, ALIVE);
  const queue: [number, number][] = [];
  // A look of the host would serve the queue itself.
  const available = () => {
    engine.semaphoreLook(REGION_HEADER_BYTES, waiters);
    return engine.semaphoreAvailable();
  };
  engine.semaphoreChange(REGION_HEADER_BYTES, waiters, ALIVE, MANY);
  for (;;) {
    const before = available();
    const owner = engine.semaphoreServe(REGION_HEADER_BYTES, waiters);
    if (owner < 0) return queue;
    queue.push([owner, before - available()]);
  }
}
