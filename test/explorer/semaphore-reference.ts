import { type Asked, SemaphoreReference } from '../support/semaphore-reference.ts';
import { operations, type Reference } from './subject.ts';

/** The owner of the permits that a setup takes; its thread has ended. */
export const DEAD = 2;
/** The owner of the permits that the explored threads take. */
export const ALIVE = 1;

/**
 * What a thread does before the scenario: `h2` holds 2 permits, `d2` holds 2 that are due, `q1` waits
 * for one.
 */
export function parseSetup(setup: string): { permits: number; steps: [string, number][] } {
  const [permits = '1', ...steps] = setup.split(' ');
  return {
    permits: Number(permits),
    steps: steps.map((step): [string, number] => [step.slice(0, 1), Number(step.slice(1))]),
  };
}

/** `setup` is the number of permits, and the steps of a thread that has ended. */
export function reference(setup: string): Reference {
  const { permits, steps } = parseSetup(setup);
  const semaphore = new SemaphoreReference(permits);
  for (const [step, n] of steps) {
    if (step === 'q') semaphore.join(DEAD, n);
    else semaphore.take(DEAD, n);
  }
  const due = steps.some(([step]) => step === 'd') ? [...semaphore.held] : [];
  return {
    attach() {
      let last: Asked | undefined;
      return operations({
        take(n = 1) {
          last = semaphore.take(ALIVE, n) ?? last;
          return last !== undefined && semaphore.isGranted(last);
        },
        join(n = 1) {
          last = semaphore.join(ALIVE, n);
          return semaphore.isGranted(last);
        },
        granted: () => last !== undefined && semaphore.isGranted(last),
        leave: () => last !== undefined && semaphore.leave(last),
        release: () => last !== undefined && semaphore.release(last),
        change: (permits = 1) => semaphore.change(permits),
        look: () => [semaphore.permits, semaphore.available],
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
