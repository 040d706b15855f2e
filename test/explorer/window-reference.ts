import type { WindowKind } from '../../src/kernel/window/limit.ts';
import { WindowThread, windowOracle } from '../oracle/windows.ts';
import { operations, type Reference, type Subject, verdict } from './subject.ts';

const INTERVAL_US = 100_000;

/** `setup` starts with `kind limit`. Time starts at the window's creation. No call exceeds the limit. */
export function reference(setup: string): Reference {
  const [name, limit] = setup.split(' ');
  const allowDoubleBurst = name === 'double-burst';
  const kind = allowDoubleBurst ? 'fixed-window' : (name as WindowKind);
  const options = { limit: Number(limit), intervalUs: INTERVAL_US, slots: 2, allowDoubleBurst };
  const window = windowOracle(kind, options);
  let nowUs = 0;

  const attach = (): Subject => {
    const thread = new WindowThread(window);
    return operations({
      advance(ms = 1) {
        nowUs += ms * 1000;
      },
      take: (n = 1) => thread.take(n, nowUs),
      drain: (most = 1) => thread.attempt(1, most, nowUs),
      cancel: () => thread.cancel() ?? null,
      available: () => window.available(nowUs),
      decide(n = 1) {
        const allowed = thread.attempt(n, n, nowUs) === n;
        return verdict({
          allowed,
          balance: window.available(nowUs),
          retryUs: allowed ? 0 : window.retryUs(n, nowUs),
          // The subject does not report it for a log.
          fullUs: kind === 'sliding-log' ? 0 : window.resetUs(nowUs),
        });
      },
      timeUntil: (n = 1) => `${window.retryUs(n, nowUs)}`,
      reconfigure(newLimit = 0, intervalMs = INTERVAL_US / 1000) {
        window.reconfigure(newLimit, intervalMs * 1000, nowUs);
      },
      return: (n = 1) => thread.giveBack(n, nowUs),
    });
  };

  const observe = () => [0, 50, 100, 150].map((ms) => window.available(nowUs + ms * 1000));
  return { attach, observe };
}
