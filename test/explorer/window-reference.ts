import { FixedWindowReference } from '../support/fixed-window-reference.ts';
import { SlidingLogReference } from '../support/sliding-log-reference.ts';
import { SlidingWindowReference } from '../support/sliding-window-reference.ts';
import type { WindowReference } from '../support/window-reference.ts';
import { operations, type Reference, type Subject, verdict } from './subject.ts';

const INTERVAL_US = 100_000;

function windowOf(kind: string | undefined, limit: number): WindowReference {
  const options = { limit, intervalUs: INTERVAL_US, slots: 2 };
  if (kind === 'fixed-window') return new FixedWindowReference(options);
  if (kind === 'double-burst') {
    return new FixedWindowReference({ ...options, allowDoubleBurst: true });
  }
  if (kind === 'sliding-log') return new SlidingLogReference(options);
  return new SlidingWindowReference(options);
}

/** `setup` starts with `kind limit`. Time starts at the window's creation. No call exceeds the limit. */
export function reference(setup: string): Reference {
  const [kind, limit] = setup.split(' ');
  const window = windowOf(kind, Number(limit));
  let nowUs = 0;

  const attach = (): Subject => {
    let latest: { readonly n: number; readonly state: string } | undefined;
    /** What this thread took at the place where it took last. */
    let mine = { place: '', n: 0 };
    const note = (n: number) => {
      const last = mine.place === window.place ? mine.n : 0;
      if (n > 0) mine = { place: window.place, n: last + n };
      return n;
    };
    return operations({
      advance(ms = 1) {
        nowUs += ms * 1000;
      },
      take(n = 1) {
        const isTaken = window.attempt(n, n, nowUs) === n;
        if (isTaken) {
          latest = { n, state: window.state };
          note(n);
        }
        return isTaken;
      },
      drain(most = 1) {
        return note(window.attempt(1, most, nowUs));
      },
      cancel() {
        if (latest === undefined) return null;
        const isUndone = window.cancel(latest.n, latest.state);
        if (isUndone) mine.n -= latest.n;
        return isUndone;
      },
      available() {
        return window.available(nowUs);
      },
      decide(n = 1) {
        const allowed = note(window.attempt(n, n, nowUs)) === n;
        return verdict({
          allowed,
          balance: window.available(nowUs),
          retryUs: allowed ? 0 : window.retryUs(n, nowUs),
          // The subject does not report it for a log.
          fullUs: kind === 'sliding-log' ? 0 : window.resetUs(nowUs),
        });
      },
      timeUntil(n = 1) {
        return `${window.retryUs(n, nowUs)}`;
      },
      reconfigure(newLimit = 0, intervalMs = INTERVAL_US / 1000) {
        window.reconfigure(newLimit, intervalMs * 1000, nowUs);
      },
      return(n = 1) {
        const returned = window.giveBack(Math.min(n, mine.n), mine.place, nowUs);
        mine.n -= returned;
        return returned;
      },
    });
  };

  const observe = () => [0, 50, 100, 150].map((ms) => window.available(nowUs + ms * 1000));
  return { attach, observe };
}
