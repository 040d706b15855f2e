import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');

/** Collects garbage until `isDone`, which hears of it a turn of the event loop later. */
export async function collectUntil(isDone: () => boolean): Promise<void> {
  for (let turn = 0; turn < 50 && !isDone(); turn++) {
    await setImmediate(); // what `isDone` looked at is kept until its turn ends
    gc();
    await setImmediate();
  }
}
