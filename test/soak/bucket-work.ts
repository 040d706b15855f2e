import { attach, type LimiterHandle, RateLimitError } from '../../src/index.ts';
import type { Random } from '../support/random.ts';
import { BURST, HOLD, RATES, reconfigure, type SoakJob, type Work } from './job.ts';
import type { Ledger } from './ledger.ts';

const LEASE = 16;
const OFTEN = 64;

/** Runs `call`; a documented error counts as a refusal. */
function granted<T>(call: () => T, refused: T): T {
  try {
    return call();
  } catch (error) {
    if (error instanceof RateLimitError) return refused;
    throw error;
  }
}

/** Makes all kinds of calls on a bucket, and accounts for each. */
export function bucketWork(job: SoakJob, ledger: Ledger, random: Random): Work {
  const bucket = attach(job.handle as LimiterHandle<'token-bucket' | 'limit-set'>);
  const lease = bucket.lease({ size: LEASE });
  const me = job.line;
  const { changes } = job;
  const waits = new Set<Promise<void>>();
  const aborts: AbortController[] = [];
  let held = 0;
  const take = (most: number, call: () => number) => {
    ledger.begin(me, 0, most);
    const took = call();
    held += took;
    ledger.end(me, 0, took, most);
  };
  const giveBack = (n: number) => {
    ledger.begin(me, 0, 0, n);
    bucket.returnTokens(n);
    held -= n;
    ledger.end(me, 0, -n, 0, n);
  };
  const leased = (n: number, call: () => boolean) => {
    const before = lease.stock;
    const taking = n + LEASE;
    ledger.begin(me, 0, taking, before);
    const spent = call() ? n : 0;
    held += spent;
    // Tokens in the lease's stock have left the bucket too.
    ledger.end(me, 0, spent + lease.stock - before, taking, before);
  };
  /** Accounts for a failed wait: its tokens may be lost if the limit was changed meanwhile. */
  const failed = (n: number, before: number) => {
    const isSteady = before % 2 === 0 && Atomics.load(changes, 0) === before;
    if (isSteady) ledger.end(me, 0, 0, n);
    else ledger.aborted(me, 0, n);
  };
  const wait = (n: number) => {
    const abort = new AbortController();
    const before = Atomics.load(changes, 0);
    ledger.begin(me, 0, n);
    const settled = bucket.wait(n, { timeoutMs: 40, signal: abort.signal }).then(
      () => {
        held += n;
        ledger.end(me, 0, n, n);
      },
      (error) => {
        if (error instanceof RateLimitError) failed(n, before);
        else ledger.aborted(me, 0, n);
      },
    );
    waits.add(settled);
    void settled.then(() => waits.delete(settled));
    if (job.aborts && random.below(2) === 0) aborts.push(abort);
  };
  const waitSync = (n: number) => {
    const before = Atomics.load(changes, 0);
    ledger.begin(me, 0, n);
    if (!bucket.waitSync(n, { timeoutMs: 30 })) return failed(n, before);
    held += n;
    ledger.end(me, 0, n, n);
  };
  const n = () => 1 + random.below(6);
  const step = () => {
    if (held > HOLD) giveBack(held);
    const tokens = n();
    switch (random.below(job.stands ? 9 : 11)) {
      case 0:
      case 1:
        return take(tokens, () => (bucket.tryConsume(tokens) ? tokens : 0));
      case 2:
        return take(tokens, () => bucket.consumeOrDrain(tokens));
      case 3:
        return take(tokens, () => (bucket.acquire(tokens, 20) >= 0 ? tokens : 0));
      case 4:
        return take(tokens, () => (bucket.decide(tokens).allowed ? tokens : 0));
      case 5: {
        ledger.begin(me, 0, tokens);
        const kept = granted(() => bucket.reserve(tokens, { maxWaitMs: 20 }), undefined);
        const took = kept === undefined || (random.below(2) === 0 && kept.cancel()) ? 0 : tokens;
        held += took;
        return ledger.end(me, 0, took, tokens);
      }
      case 6:
        return leased(tokens, () => lease.tryConsume(tokens));
      case 7:
        return held >= tokens ? giveBack(tokens) : undefined;
      case 8:
        if (!job.stands || random.below(16) > 0) return;
        return granted(
          () => reconfigure(bucket, { rate: random.pick(RATES), burst: BURST }),
          undefined,
        );
      case 9:
        return random.below(OFTEN) > 0 ? undefined : waitSync(tokens);
      default:
        return random.below(OFTEN) > 0 ? undefined : wait(tokens);
    }
  };
  return {
    step,
    abort: () => {
      for (const abort of aborts.splice(0)) abort.abort();
    },
    rest: async () => {
      await Promise.all(waits);
      leased(0, () => lease.release() > 0);
    },
  };
}
