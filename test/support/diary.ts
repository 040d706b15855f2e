import { type Limiter, ManualClock, type WaitOptions } from '../../src/index.ts';
import { settled } from './settled.ts';

/** Who was served or failed, and when, in order. */
export class Diary {
  readonly clock = ManualClock.create();
  readonly limiter: Limiter;
  readonly events: string[] = [];

  constructor(make: (clock: ManualClock) => Limiter) {
    this.limiter = make(this.clock);
  }

  wait(name: string, options?: WaitOptions, n = 1): void {
    this.limiter.wait(n, options).then(
      ({ waitedMs }) => this.#note(name, `waited ${waitedMs}`),
      (error) => this.#note(name, error?.code ?? String(error)),
    );
  }

  #note(name: string, what: string): void {
    this.events.push(`${this.clock.nowMs}: ${name} ${what}`);
  }

  async until(ms: number): Promise<void> {
    await settled();
    while (this.clock.nowMs < ms) {
      this.clock.set(Math.min(ms, Math.floor(this.clock.nowMs) + 5));
      await settled();
    }
  }
}
