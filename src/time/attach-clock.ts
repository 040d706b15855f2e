import { HandleError } from '../errors.ts';
import { readFields } from '../memory/handle.ts';
import { Region } from '../memory/region.ts';
import { isShared } from '../memory/shared-memory.ts';
import { shown } from '../options.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';
import { ManualReader, manualClockAt } from './manual-reader.ts';
import { systemClock } from './system-clock.ts';
import { TickerCell, TickerReader } from './ticker-reader.ts';

/**
 * A clock that runs with another one, and differs from it by a constant. A region that outlived a
 * restart of the machine has one, because the system's clock begins anew with each start.
 */
export class ShiftedClock implements Clock {
  readonly name: string;
  readonly nonce?: number;
  readonly handle: ClockHandle;
  readonly now: () => number;
  readonly #clock: Clock;
  readonly #shiftUs: number;

  constructor(clock: Clock, shiftUs: number) {
    this.#clock = clock;
    this.#shiftUs = shiftUs;
    this.name = clock.name;
    if (clock.nonce !== undefined) this.nonce = clock.nonce;
    this.handle = clock.handle;
    this.now = () => clock.now() + shiftUs;
  }

  sleep(untilUs: number, options?: SleepOptions): Promise<void> {
    return this.#clock.sleep(untilUs - this.#shiftUs, options);
  }

  sleepSync(untilUs: number, options?: BlockingSleepOptions): void {
    this.#clock.sleepSync(untilUs - this.#shiftUs, options);
  }
}

/** By the clock that they run with, and their shift: sleepers on one object share a timer. */
const known = new WeakMap<Clock, Map<number, Clock>>();

/** The clock that is ahead of another by `shiftUs`. */
function shifted(clock: Clock, shiftUs: number): Clock {
  const clocks = known.get(clock) ?? new Map<number, Clock>();
  known.set(clock, clocks);
  const made = clocks.get(shiftUs) ?? new ShiftedClock(clock, shiftUs);
  clocks.set(shiftUs, made);
  return made;
}

/** A clock as a region's limiters read it: those that follow the system's tell the region's time. */
export function clockIn(region: Region | undefined, clock: Clock): Clock {
  const shiftUs = region?.shiftUs ?? 0;
  const follows = clock === systemClock || clock instanceof TickerReader;
  return shiftUs !== 0 && follows ? shifted(clock, shiftUs) : clock;
}

/**
 * Returns the clock of a handle: the system's, or one in its own memory or the limiter's region.
 *
 * @throws HandleError `ERR_HANDLE_INVALID`, `ERR_REGION_INVALID`
 */
export function attachClock(handle: ClockHandle, region?: Region): Clock {
  const fields = readFields("the handle's clock", handle, 'name', 'buffer', 'offset');
  const { name, buffer, offset } = fields;
  if (name === 'system') return clockIn(region, systemClock);
  // A handle that came as JSON has no memory: its clock is in the limiter's region.
  const isHere = region !== undefined && !isShared(buffer);
  if (name === 'manual') {
    return new ManualReader(manualClockAt(isHere ? region : Region.open(buffer), offset));
  }
  if (name === 'ticker')
    return clockIn(region, new TickerReader(TickerCell.open(buffer), systemClock));
  throw new HandleError('ERR_HANDLE_INVALID', `the handle's clock is unknown: ${shown(name)}`);
}
