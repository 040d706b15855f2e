import { type Asked, SemaphoreOracle } from '../oracle/semaphore.ts';
import { operations, type Reference } from './subject.ts';

/** Enough for the callers of a scenario, of which one may be stopped. */
const WAITERS = 8;
/** The owner of the permits that a setup takes; its thread has ended. */
export const DEAD = 2;
/** The owner of the permits that the explored threads take. */
export const ALIVE = 1;

interface Setup {
  readonly permits: number;
  readonly waiters: number;
  readonly steps: [string, number][];
}

/**
 * The number of permits, if needed with a slash and the number of waiters, and what a thread does
 * before the scenario: `h2` holds 2 permits, `d2` holds 2 that are due, `q1` waits for one.
 */
export function parseSetup(setup: string): Setup {
  const [shared = '1', ...steps] = setup.split(' ');
  const [permits, waiters = WAITERS] = shared.split('/');
  return {
    permits: Number(permits),
    waiters: Number(waiters),
    steps: steps.map((step): [string, number] => [step.slice(0, 1), Number(step.slice(1))]),
  };
}

/** `setup` as for {@link parseSetup}. */
export function reference(setup: string): Reference {
  const { permits, waiters, steps } = parseSetup(setup);
  const semaphore = new SemaphoreOracle(permits);
  const due: Asked[] = [];
  for (const [step, n] of steps) {
    if (step === 'q') semaphore.join(DEAD, n);
    const taken = step === 'q' ? undefined : semaphore.take(DEAD, n);
    if (step === 'd' && taken !== undefined) due.push(taken);
  }
  return {
    attach() {
      let last: Asked | undefined;
      return operations({
        take(n = 1) {
          if (semaphore.all.length < waiters) last = semaphore.take(ALIVE, n) ?? last;
          return last !== undefined && semaphore.isGranted(last);
        },
        join(n = 1) {
          last = semaphore.join(ALIVE, n);
          return semaphore.isGranted(last);
        },
        granted: () => last !== undefined && semaphore.isGranted(last),
        vacated: () => last !== undefined && !semaphore.all.includes(last),
        leave: () => last !== undefined && semaphore.leave(last),
        release: () => last !== undefined && semaphore.release(last),
        change: (permits = 1) => semaphore.change(permits),
        look: () => [semaphore.permits, semaphore.available],
        hasRoom: () => semaphore.all.length < waiters,
        owns: (by) => semaphore.all.some(({ owner }) => owner === by),
        recover: () => semaphore.recover(DEAD),
        expire() {
          for (const asked of due) semaphore.release(asked);
        },
      });
    },
    observe() {
      const { permits, available } = semaphore;
      const queue = semaphore.queue.map(({ owner, n }) => [owner, n]);
      const of = (owner: number) => semaphore.recover(owner);
      return { permits, available, queue, returned: [of(ALIVE), of(DEAD)], left: permits };
    },
  };
}
