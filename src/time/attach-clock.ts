import { HandleError } from '../errors.ts';
import { readFields } from '../memory/read-fields.ts';
import { shown } from '../options.ts';
import type { Clock, ClockHandle } from './clock.ts';
import { ManualClock } from './manual-clock.ts';
import { systemClock } from './system-clock.ts';
import { TickerClock } from './ticker-clock.ts';

/**
 * Returns the clock that a handle names.
 *
 * @throws HandleError `ERR_HANDLE_INVALID`
 */
export function attachClock(handle: ClockHandle): Clock {
  const { name, buffer } = readFields("the handle's clock", handle, 'name', 'buffer');
  if (name === 'system') return systemClock;
  // `attach` checks the buffer.
  if (name === 'manual') return ManualClock.attach({ name, buffer: buffer as SharedArrayBuffer });
  if (name === 'ticker') return TickerClock.attach({ name, buffer: buffer as SharedArrayBuffer });
  throw new HandleError(
    'ERR_HANDLE_INVALID',
    `the handle names no clock that is known: ${shown(name)}`,
  );
}
