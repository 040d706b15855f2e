import { attach, type LimiterHandle, systemClock } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { serve } from '../support/serve.ts';

/** Compares a limiter's ticker clock with the system clock, together with other threads. */
export interface ReadJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly gate: SharedArrayBuffer;
  /** The number of arrivals that opens the gate. */
  readonly arrivals: number;
  readonly readings: number;
}

export interface ReadTimes {
  /** The most that a reading was ahead of a later reading of the system clock. */
  readonly mostAheadUs: number;
  /** The most that a reading was behind the previous one. */
  readonly mostBackUs: number;
  /** Readings equal to the previous one, which readings of the system clock hardly ever are. */
  readonly repeated: number;
}

serve(({ handle, gate, arrivals, readings }: ReadJob): ReadTimes => {
  const { clock } = attach(handle);
  const start = new Gate(gate);
  start.arrive();
  start.await(arrivals);
  let mostAheadUs = Number.NEGATIVE_INFINITY;
  let mostBackUs = Number.NEGATIVE_INFINITY;
  let repeated = 0;
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < readings; i++) {
    const us = clock.now();
    mostAheadUs = Math.max(mostAheadUs, us - systemClock.now());
    mostBackUs = Math.max(mostBackUs, last - us);
    if (us === last) repeated++;
    last = us;
  }
  return { mostAheadUs, mostBackUs, repeated };
});
