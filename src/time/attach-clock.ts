import { HandleError } from '../errors.ts';
import { shown } from '../options.ts';
import type { Clock, ClockHandle } from './clock.ts';
import { ManualClock } from './manual-clock.ts';
import { systemClock } from './system-clock.ts';

/**
 * The clock that a handle names.
 *
 * @throws HandleError `ERR_HANDLE_INVALID`
 */
export function attachClock(handle: ClockHandle): Clock {
  const name: unknown = typeof handle === 'object' && handle !== null ? handle.name : handle;
  if (name === 'system') return systemClock;
  if (name === 'manual') return ManualClock.attach(handle);
  throw new HandleError(
    'ERR_HANDLE_INVALID',
    `the handle names no clock that is known: ${shown(name)}`,
  );
}
