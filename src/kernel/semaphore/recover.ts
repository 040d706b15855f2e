import type { CellPlace } from '../../memory/cell.ts';
import { configurationOf } from './cell.ts';
import type { SemaphoreEngine } from './engine.ts';
import type { Owners } from './owners.ts';

/** The parts of an open semaphore that recovery needs. */
interface Opened {
  readonly engine: SemaphoreEngine;
  readonly owners: Pick<Owners, 'free' | 'wake' | 'wakeAll'>;
}

/** Returns the permits of ended threads, and removes them from the queue. */
export function recoverSeats(
  place: CellPlace,
  { engine, owners }: Opened,
  hasEnded: (mark: number) => boolean,
): number {
  const { seats } = configurationOf(place);
  let returned = 0;
  owners.free(hasEnded, (owner) => {
    returned += engine.semaphoreRecover(place.offset, seats, owner);
  });
  for (;;) {
    const owner = engine.semaphoreServe(place.offset, seats);
    if (owner < 0) break;
    owners.wake(owner);
  }
  // A thread may have ended between granting permits and waking their owner.
  owners.wakeAll();
  return returned;
}
