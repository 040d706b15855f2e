import { systemClock } from '../../src/index.ts';

/** A task that returns when its thread started it, in microseconds. */
export default function started(): number {
  return systemClock.now();
}
