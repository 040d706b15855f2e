import { systemClock } from './system-clock.ts';
import { TickerCell } from './ticker-cell.ts';

/** The ticker's side: publishes the time once a period, for as long as its thread lives. */
export function runTicker(
  parent: { postMessage(message: unknown): void },
  buffer: SharedArrayBuffer,
): never {
  const cell = TickerCell.open(buffer);
  const { periodUs } = cell;
  cell.publish(systemClock.now());
  parent.postMessage('ticking');
  let dueUs = systemClock.now();
  for (;;) {
    // By a schedule, so that late wake-ups do not add up; what was missed is not made up for.
    dueUs = Math.max(dueUs + periodUs, systemClock.now());
    systemClock.sleepSync(dueUs);
    cell.publish(systemClock.now());
  }
}
