import { vi } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { createTickerCell, TickerReader } from '../../src/time/ticker-reader.ts';

/** A ticker that the test ticks by hand, and a reader of it. */
export function handTicker(periodMs = 1) {
  const system = ManualClock.create({ nowMs: 1000 });
  const cell = createTickerCell(periodMs);
  const clock = new TickerReader(cell, system);
  const looks = vi.spyOn(system, 'now');
  const tick = () => {
    if (cell.isSpinning) Atomics.store(cell.beats, 0, Math.floor(system.now() * 4) | 0);
    else cell.publish(system.now());
  };
  /** A reading in microseconds since the start. */
  const read = () => clock.now() - 1e6;
  return { system, cell, clock, looks, tick, read };
}

/** Reads until the next 127 readings would not check the system clock. */
export function trust({ clock, tick }: ReturnType<typeof handTicker>) {
  tick();
  for (let reading = 0; reading < 256; reading++) clock.now();
}
