import { LATER, NEVER } from '../../src/kernel/bucket/kernel.ts';
import { Rational } from '../support/rational.ts';
import { type Promised, ReferenceBucket } from '../support/reference-bucket.ts';
import { operations, type Reference, type Subject, verdict } from './subject.ts';

/**
 * `setup` is `rate burst initial`. Time starts at the bucket's creation. The promises of some buckets
 * are `fixed`: nothing moves them.
 */
export function reference(setup: string, fixed = false): Reference {
  const [rate = 1, burst = 1, initial = burst] = setup.split(' ').map(Number);
  let nowUs = 0;
  const bucket = new ReferenceBucket({ rate, burst }, initial, () => nowUs);

  const balance = () => bucket.balance().toNumber();
  const untilUs = (tokens: number) => bucket.waitUs(tokens)?.toNumber() ?? Number.POSITIVE_INFINITY;

  const attach = (): Subject => {
    let promised: Promised | undefined;
    let waits = false;
    return operations({
      acquire(tokens = 0, maxWaitUs = 0, afterUs = 0) {
        nowUs = afterUs;
        const waitUs = untilUs(tokens);
        if (waitUs === Number.POSITIVE_INFINITY) return NEVER;
        if (waitUs > maxWaitUs) return LATER;
        promised = bucket.take(tokens);
        waits = waitUs > 0;
        return waitUs;
      },
      drain(most = 0, afterUs = 0) {
        nowUs = afterUs;
        const taken = Math.min(most, Math.max(0, Math.floor(balance())));
        bucket.take(taken);
        return taken;
      },
      refund(tokens = 0, afterUs = 0) {
        nowUs = afterUs;
        const moves = bucket.putBack(tokens, fixed);
        return fixed ? null : moves;
      },
      due() {
        if (promised === undefined || !waits) return null;
        const dueUs = bucket.dueUs(promised);
        return dueUs === undefined ? 'past' : `${dueUs?.toNumber() ?? Infinity}`;
      },
      charge(tokens = 0, afterUs = 0) {
        nowUs = afterUs;
        bucket.take(tokens);
        return bucket.waitUs(0)?.toNumber() ?? Number.POSITIVE_INFINITY;
      },
      cancel() {
        if (promised === undefined) return null;
        if (bucket.movedSince(promised, waits)?.compare(Rational.ZERO) !== 0) return false;
        bucket.cancel(promised);
        return true;
      },
      balance(afterUs = 0) {
        nowUs = afterUs;
        return balance();
      },
      decide(tokens = 0, afterUs = 0) {
        nowUs = afterUs;
        const retryUs = untilUs(tokens);
        const allowed = retryUs === 0;
        if (allowed) bucket.take(tokens);
        const fullUs = untilUs(bucket.limit.burst);
        return verdict({ allowed, balance: balance(), retryUs, fullUs });
      },
      timeUntil(tokens = 0, afterUs = 0) {
        nowUs = afterUs;
        return `${untilUs(tokens)}`;
      },
      'take over': () => null,
      reconfigure(newRate = 0, newBurst = 0, afterUs = 0) {
        nowUs = afterUs;
        bucket.reconfigure({ rate: newRate, burst: newBurst });
      },
    });
  };

  const observe = () => {
    nowUs = 0;
    return { balance: balance(), ...bucket.limit };
  };
  return { attach, observe };
}
