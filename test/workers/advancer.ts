import { type ClockHandle, ManualClock, systemClock } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { serve } from '../support/serve.ts';

/** Advances a clock by a millisecond at a time, together with other threads. */
export interface AdvanceJob {
  readonly clock: ClockHandle;
  readonly gate: SharedArrayBuffer;
  /** The number of arrivals that opens the gate. */
  readonly arrivals: number;
  readonly times: number;
}

export interface Advanced {
  /**
   * How often another thread moved the clock between this thread's move and the reading before it.
   */
  readonly interleaved: number;
  /** This thread's reading of the system clock. */
  readonly systemUs: number;
}

serve(({ clock: handle, gate, arrivals, times }: AdvanceJob): Advanced => {
  const systemUs = systemClock.now();
  const clock = ManualClock.attach(handle);
  const start = new Gate(gate);
  start.arrive();
  start.await(arrivals);
  let interleaved = 0;
  for (let i = 0; i < times; i++) {
    const before = clock.nowMs;
    clock.advance(1);
    if (clock.nowMs > before + 1) interleaved++;
  }
  return { interleaved, systemUs };
});
