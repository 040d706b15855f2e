import { attach, type KernelName, type LimiterHandle } from '../../src/index.ts';
import { ChangedLimits, SEVERAL } from '../support/changed-limits.ts';
import { SpendLog, timedTakes } from '../support/spend-times.ts';
import type { SoakJob, Work } from './job.ts';
import { type Ledger, LINES } from './ledger.ts';
import { newClock, type Scene } from './scene.ts';

/** Each pair of them is judged, so there are few. */
const MOST_TAKES = 1000;
const FACTORS = [1, 1, 2, 0.5, 0.1, 0] as const;

/** Limits that change on the system clock while threads are killed, also in changes of their own. */
export function changedScene(kernel: KernelName, name: keyof typeof SEVERAL): Scene {
  const limiter = SEVERAL[name]({ kernel });
  const limits = new ChangedLimits(limiter);
  const shared = SpendLog.create(LINES, MOST_TAKES);
  const logs = Array.from({ length: LINES }, (_, line) => new SpendLog(shared, line));
  const factor = (draw: number, i: number) => FACTORS[(draw >>> (8 * i)) % FACTORS.length] ?? 1;
  return {
    name: `${name}, each limit while it changes`,
    work: 'changed',
    accounts: 1,
    clock: newClock(),
    handle: limiter.handle,
    back: false,
    kills: true,
    shared,
    moved: () => undefined,
    disturb: (draw) => limits.change([factor(draw, 0), factor(draw, 1), factor(draw, 2)]),
    audit: () => ({ exact: true, violation: limits.broken(logs.flatMap((log) => log.read())) }),
  };
}

/** Takes tokens, and logs when. */
export function changedWork(job: SoakJob, ledger: Ledger): Work {
  const spent = new SpendLog(job.shared, job.line);
  const limiter = attach(job.handle as LimiterHandle<'limit-set' | 'keyed-limit-set'>);
  const take = timedTakes(limiter, spent, job.line);
  const step = () => {
    if (spent.isFull) return;
    ledger.begin(job.line, 0, 0);
    take();
    ledger.end(job.line, 0, 0, 0);
  };
  return { step };
}
