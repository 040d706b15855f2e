import { systemClock } from '../../src/index.ts';

/** A task that tells when its thread began it, in microseconds. */
export default function started(): number {
  return systemClock.now();
}
