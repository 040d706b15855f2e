import { LATER, NEVER } from '../../src/kernel/bucket/kernel.ts';
import { LimitSetReference, type Promised } from '../support/limit-set-reference.ts';
import { operations, type Reference, type Subject, verdict } from './subject.ts';

/** `setup` as in limit-set-subject.ts. Time starts at the bucket's creation. */
export function reference(setup: string): Reference {
  const [initial = 0, rate = 1, burst = 1, otherRate = 1, otherBurst = 1] = setup
    .split(' ')
    .map(Number);
  let nowUs = 0;
  const limits = [
    { rate, burst },
    { rate: otherRate, burst: otherBurst },
  ];
  const bucket = new LimitSetReference(limits, initial, () => nowUs);
  const balance = () => bucket.balance().toNumber();
  const waitUs = (n: number) => bucket.waitToTakeUs(n)?.toNumber() ?? Number.POSITIVE_INFINITY;
  const untilUs = (n: number) => bucket.waitUs(n)?.toNumber() ?? Number.POSITIVE_INFINITY;
  const fullUs = () => Math.max(...bucket.fullsUs().map((us) => us?.toNumber() ?? Infinity));

  const attach = (): Subject => {
    let promised: Promised | undefined;
    let waits = false;
    return operations({
      acquire(n = 0, maxWaitUs = 0, afterUs = 0) {
        nowUs = afterUs;
        const wait = waitUs(n);
        if (n > bucket.burst) return NEVER;
        if (wait > maxWaitUs) return LATER;
        promised = bucket.take(n);
        waits = wait > 0;
        return wait;
      },
      cancel: () => (promised === undefined ? null : bucket.cancel(promised)),
      due() {
        if (promised === undefined || !waits) return null;
        return promised.isPast ? 'past' : (promised.dueUs?.toNumber() ?? Infinity);
      },
      drain(most = 0, afterUs = 0) {
        nowUs = afterUs;
        return bucket.drain(most);
      },
      refund(n = 0, afterUs = 0) {
        nowUs = afterUs;
        return bucket.putBack(n);
      },
      charge(n = 0, afterUs = 0) {
        nowUs = afterUs;
        bucket.take(n, true);
        return n === 0 ? 0 : bucket.debtUs().toNumber();
      },
      balance(afterUs = 0) {
        nowUs = afterUs;
        return balance();
      },
      decide(n = 0, afterUs = 0) {
        nowUs = afterUs;
        const retryUs = waitUs(n);
        const allowed = retryUs === 0;
        if (allowed) bucket.take(n);
        return verdict({ allowed, balance: balance(), retryUs, fullUs: fullUs() });
      },
      timeUntil(n = 0, afterUs = 0) {
        nowUs = afterUs;
        return `${untilUs(n)}`;
      },
      reconfigure(limit = 0, newRate = 0, newBurst = 0) {
        nowUs = 0;
        const next = { rate: newRate, burst: newBurst };
        bucket.reconfigure(bucket.limits.map((one, i) => (i === limit ? next : one)));
      },
    });
  };

  const observe = () => {
    nowUs = 0;
    return {
      balances: bucket.balances().map((one) => one.toNumber()),
      rates: bucket.limits.map((limit) => limit.rate),
    };
  };
  return { attach, observe };
}
