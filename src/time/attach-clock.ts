import { HandleError } from '../errors.ts';
import { readFields } from '../memory/handle.ts';
import type { Region } from '../memory/region.ts';
import { shown } from '../options.ts';
import type { Clock, ClockHandle } from './clock.ts';
import { ManualClock } from './manual-clock.ts';
import { systemClock } from './system-clock.ts';
import { TickerCell, TickerReader } from './ticker-reader.ts';

/**
 * Returns the clock of a handle: the system's, or one in its own memory or the limiter's region.
 *
 * @throws HandleError `ERR_HANDLE_INVALID`
 */
export function attachClock(handle: ClockHandle, region?: Region): Clock {
  const fields = readFields("the handle's clock", handle, 'name', 'buffer', 'offset');
  const { name, buffer, offset } = fields;
  if (name === 'system') return systemClock;
  if (name === 'manual' && offset !== undefined && region !== undefined)
    return ManualClock.at(region, offset);
  // It checks the buffer.
  if (name === 'manual') return ManualClock.attach({ name, buffer: buffer as SharedArrayBuffer });
  if (name === 'ticker') return new TickerReader(TickerCell.open(buffer), systemClock);
  throw new HandleError('ERR_HANDLE_INVALID', `the handle's clock is unknown: ${shown(name)}`);
}
