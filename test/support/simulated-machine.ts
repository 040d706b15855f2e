import { vi } from 'vitest';
import { timers } from '../../src/memory/runtime.ts';
import { sleep } from '../../src/time/system-clock.ts';
import { plant } from './plant.ts';

/** With a longer delay, setTimeout fires at once. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** A simulated machine on which time passes only in timers, which may fire early or late. */
export class Machine {
  nowUs = 1e9;
  /** How late timers fire; early if negative. */
  lateUs = 0;
  /** Duration of a turn of the event loop, or of a clock reading. */
  turnUs = 1;
  readonly #timers: { readonly atUs: number; readonly fire: () => void }[] = [];
  readonly timeouts: number[] = [];
  turns = 0;

  constructor() {
    const start = (afterUs: number, fire: () => void) => {
      const timer = { atUs: this.nowUs + afterUs, fire };
      this.#timers.push(timer);
      return timer as never;
    };
    const stop = (timer: unknown) => {
      const at = this.#timers.indexOf(timer as never);
      if (at >= 0) this.#timers.splice(at, 1);
    };
    vi.spyOn(timers, 'start').mockImplementation(((fire: () => void, ms: number) => {
      this.timeouts.push(ms);
      // Node.js does this with a delay that is too long.
      const counted = ms > MAX_TIMEOUT_MS ? 1 : ms;
      return start(counted * 1000 + this.lateUs, fire);
    }) as never);
    plant(timers, 'startTurn', (fire: () => void) => {
      this.turns++;
      return start(this.turnUs, fire);
    });
    vi.spyOn(timers, 'stop').mockImplementation(stop);
    vi.spyOn(timers, 'stopTurn').mockImplementation(stop as never);
    vi.spyOn(Atomics, 'wait').mockImplementation(((
      _: unknown,
      __: number,
      ___: number,
      ms: number,
    ) => {
      this.timeouts.push(ms);
      this.nowUs += ms * 1000 + this.lateUs;
      return 'timed-out';
    }) as never);
  }

  readonly now = () => this.nowUs;

  /** A clock reading that takes time, for spinning callers. */
  readonly slowNow = () => {
    this.nowUs += this.turnUs;
    return this.nowUs;
  };

  get pending(): number {
    return this.#timers.length;
  }

  /** Fires the next timer, and runs its consequences. */
  async fire(): Promise<void> {
    this.#timers.sort((a, b) => a.atUs - b.atUs);
    const timer = this.#timers.shift();
    if (timer === undefined) throw new Error('nobody sleeps');
    this.nowUs = Math.max(this.nowUs, timer.atUs);
    timer.fire();
    for (let i = 0; i < 5; i++) await Promise.resolve();
  }

  /** Fires timers until the sleep ends; returns how late it is, in microseconds. */
  async sleep(us: number, strict: boolean): Promise<number> {
    const untilUs = this.nowUs + us;
    let ended = false;
    const done = sleep(this.now, untilUs, { strict }).then(() => {
      ended = true;
    });
    while (this.pending > 0 && !ended) {
      if (this.timeouts.length > 10_000) throw new Error('a sleep that never ends');
      await this.fire();
    }
    await done;
    return this.nowUs - untilUs;
  }
}
