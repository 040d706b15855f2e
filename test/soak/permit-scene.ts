import { type KernelName, Semaphore } from '../../src/index.ts';
import { Rooms } from '../support/rooms.ts';
import { newClock, type Scene } from './scene.ts';

const PERMITS = 10;

/** Never more permits in use than exist, and none after a round, whichever threads were killed. */
export function permitScene(kernel: KernelName): Scene {
  const clock = newClock();
  const rooms = Rooms.for(PERMITS);
  const semaphore = Semaphore.create({ permits: PERMITS, clock, kernel });
  return {
    name: 'semaphore',
    work: 'permit',
    accounts: 1,
    clock,
    handle: semaphore.handle,
    back: true,
    rooms,
    hired: (worker, line) => {
      // A killed thread's rooms are free before its permits are.
      worker.on('exit', () => rooms.clear(line + 1));
      semaphore.watch(worker);
    },
    moved: () => undefined,
    disturb: (draw) => semaphore.reconfigure({ permits: 1 + (draw % PERMITS) }),
    audit: () => {
      const [inUse, waiting, { occupied }] = [semaphore.inUse(), semaphore.waiting, rooms];
      semaphore.reconfigure({ permits: PERMITS });
      const isClean = inUse === 0 && waiting === 0 && occupied === 0;
      const found = `${inUse} permits are out, ${waiting} callers wait, ${occupied} rooms are occupied`;
      const violation =
        isClean && semaphore.available() === PERMITS ? '' : `${found}, and nobody is there`;
      return { exact: true, violation };
    },
  };
}
