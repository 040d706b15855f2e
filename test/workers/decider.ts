import {
  attach,
  type ContinuousLimit,
  type Decision,
  type LimiterHandle,
} from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { Random } from '../support/random.ts';
import { serve } from '../support/serve.ts';

/** Calls `decide` while threads reconfigure, and returns the tokens. */
export interface DecideJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly gate: SharedArrayBuffer;
  /** The number of arrivals that opens the gate. */
  readonly arrivals: number;
  readonly calls: number;
  readonly limits: readonly [ContinuousLimit, ...ContinuousLimit[]];
  readonly seed: number;
}

export interface Decided {
  /** The number of decisions that match each limit. */
  readonly answered: readonly number[];
  /** The first decision that matches no limit. */
  readonly mixture: (Decision & { readonly n: number }) | undefined;
}

/** Whether the whole decision follows from one limit. Tokens are whole here, and waits exact. */
function follows({ rate, burst }: ContinuousLimit, n: number, decision: Decision): boolean {
  const { allowed, limit, remaining, retryAfterMs, resetMs } = decision;
  const msUntil = (tokens: number) => (Math.max(0, tokens - remaining) / rate) * 1000;
  const retryMs = n > burst ? Number.POSITIVE_INFINITY : msUntil(n);
  return limit === burst && resetMs === msUntil(burst) && retryAfterMs === (allowed ? 0 : retryMs);
}

serve(({ handle, gate, arrivals, calls, limits, seed }: DecideJob, me): Decided => {
  const bucket = attach(handle);
  const random = new Random(seed + me);
  const answered = limits.map(() => 0);
  let mixture: Decided['mixture'];
  const start = new Gate(gate);
  start.arrive();
  start.await(arrivals);
  for (let call = 0; call < calls && mixture === undefined; call++) {
    if (random.below(8) === 0) bucket.reconfigure(random.pick(limits));
    // Small numbers, more than are available, and more than one of the limits can ever hold.
    const n = random.pick([1, 2, 3, 950, 1500]);
    const decision = bucket.decide(n);
    const by = limits.findIndex((limit) => follows(limit, n, decision));
    if (by < 0) mixture = { n, ...decision };
    else answered[by] = (answered[by] ?? 0) + 1;
    if (decision.allowed) bucket.returnTokens(n);
  }
  return { answered, mixture };
});
