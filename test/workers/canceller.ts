import { attach, type LimiterHandle, ManualClock, type Reservation } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { Random } from '../support/random.ts';
import { serve } from '../support/serve.ts';

/** Reserves and cancels in random order, together with other threads, while time passes. */
export interface CancelJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly gate: SharedArrayBuffer;
  /** The number of arrivals that opens the gate. */
  readonly arrivals: number;
  readonly calls: number;
  readonly seed: number;
}

/** Tokens reserved and not returned, and their instant. */
export interface Kept {
  readonly n: number;
  readonly atUs: number;
}

export interface Cancelled {
  readonly kept: readonly Kept[];
  readonly cancels: number;
  /** Cancellations that failed because a later reservation depends on the tokens. */
  readonly lapsed: number;
}

serve(({ handle, gate, arrivals, calls, seed }: CancelJob, me): Cancelled => {
  const bucket = attach(handle);
  const clock = ManualClock.attach(bucket.clock.handle);
  const random = new Random(seed + me);
  const held: { readonly n: number; readonly reservation: Reservation }[] = [];
  const kept: Kept[] = [];
  let cancels = 0;
  let lapsed = 0;
  const start = new Gate(gate);
  start.arrive();
  start.await(arrivals);
  for (let call = 0; call < calls; call++) {
    const drawn = random.below(16);
    if (drawn === 0) {
      clock.advance(random.below(64) / 32);
    } else if (drawn < 9 || held.length === 0) {
      const n = 1 + random.below(4);
      const reservation = bucket.reserve(n, { maxWaitMs: 40 });
      if (reservation !== undefined) held.push({ n, reservation });
    } else {
      // Half of the time the latest one, half of the time any.
      const which = drawn < 13 ? held.length - 1 : random.below(held.length);
      for (const { n, reservation } of held.splice(which, 1)) {
        if (random.below(4) === 0) kept.push({ n, atUs: reservation.atUs });
        else if (reservation.cancel()) cancels++;
        else lapsed++;
      }
    }
  }
  for (const { n, reservation } of held) kept.push({ n, atUs: reservation.atUs });
  return { kept, cancels, lapsed };
});
