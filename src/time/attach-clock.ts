import { HandleError } from '../errors.ts';
import { readFields } from '../memory/handle.ts';
import type { Region } from '../memory/region.ts';
import { shown } from '../options.ts';
import type { Clock, ClockHandle } from './clock.ts';
import { ManualClock } from './manual-clock.ts';
import { shifted } from './shifted-clock.ts';
import { systemClock } from './system-clock.ts';
import { TickerCell, TickerReader } from './ticker-reader.ts';

/** A clock as a region's limiters read it: those that follow the system's tell the region's time. */
export function clockIn(region: Region | undefined, clock: Clock): Clock {
  const shiftUs = region?.shiftUs ?? 0;
  const follows = clock === systemClock || clock instanceof TickerReader;
  return shiftUs !== 0 && follows ? shifted(clock, shiftUs) : clock;
}

/**
 * Returns the clock of a handle: the system's, or one in its own memory or the limiter's region.
 *
 * @throws HandleError `ERR_HANDLE_INVALID`
 */
export function attachClock(handle: ClockHandle, region?: Region): Clock {
  const fields = readFields("the handle's clock", handle, 'name', 'buffer', 'offset');
  const { name, buffer, offset } = fields;
  if (name === 'system') return clockIn(region, systemClock);
  if (name === 'manual' && offset !== undefined && region !== undefined)
    return ManualClock.at(region, offset);
  // It checks the buffer.
  if (name === 'manual') return ManualClock.attach({ name, buffer: buffer as SharedArrayBuffer });
  if (name === 'ticker')
    return clockIn(region, new TickerReader(TickerCell.open(buffer), systemClock));
  throw new HandleError('ERR_HANDLE_INVALID', `the handle's clock is unknown: ${shown(name)}`);
}
