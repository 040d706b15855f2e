import type { Clock, ClockHandle } from '../../time/clock.ts';

/**
 * A clock that is one number. The manual clock does the same for all threads, but to set it costs
 * 120 ns and more (a call of a bucket: 50), and there is but one thread here.
 */
export class SimulatedClock implements Clock {
  readonly name = 'simulated';
  nowUs = 0;

  now(): number {
    return this.nowUs;
  }

  sleep(): Promise<void> {
    throw new Error('nobody sleeps in simulated time');
  }

  sleepSync(): void {
    throw new Error('nobody sleeps in simulated time');
  }

  get handle(): ClockHandle {
    throw new Error('simulated time stays in its thread');
  }
}
