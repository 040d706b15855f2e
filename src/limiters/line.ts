import type { BucketKernel } from '../kernel/bucket-kernel.ts';
import type { Changes } from '../kernel/changes.ts';
import type { Position } from '../kernel/position.ts';
import type { Alarm } from '../memory/alarm.ts';
import type { Clock, SleepOptions } from '../time/clock.ts';

/** Why a sleep ends that a change of the limit ends. */
const CHANGED = Symbol('the limit has changed');

/** The place of one caller who waits for tokens. It keeps it in tokens: when the limit changes, its instant moves. */
export class Line {
  readonly #clock: Clock;
  readonly #kernel: BucketKernel;
  readonly #changes: Changes;
  readonly #position: Position;
  readonly #deadlineUs: number;

  constructor(
    clock: Clock,
    kernel: BucketKernel,
    changes: Changes,
    position: Position,
    deadlineUs: number,
  ) {
    this.#clock = clock;
    this.#kernel = kernel;
    this.#changes = changes;
    this.#position = position;
    this.#deadlineUs = deadlineUs;
  }

  /** Resolves when the tokens are there; with false, at once, if that has moved past the deadline. */
  async wait({ strict, signal }: SleepOptions): Promise<boolean> {
    for (;;) {
      const alarm = this.#changes.alarm();
      const dueUs = this.#position.dueUs();
      if (dueUs <= this.#clock.now()) return true;
      if (dueUs > this.#deadlineUs) return false;
      await this.#sleep(dueUs, alarm, { strict: strict ?? false, signal });
    }
  }

  async #sleep(untilUs: number, alarm: Alarm, { strict, signal }: SleepOptions): Promise<void> {
    const end = new AbortController();
    const onAbort = () => end.abort(signal?.reason);
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    const callOff = this.#changes.onChange(alarm, () => end.abort(CHANGED));
    try {
      await this.#clock.sleep(untilUs, { strict: strict ?? false, signal: end.signal });
    } catch (reason) {
      if (reason !== CHANGED) throw reason;
    } finally {
      callOff();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** {@link wait}, blocking the thread. */
  waitSync({ strict }: Pick<SleepOptions, 'strict'>): boolean {
    for (;;) {
      const alarm = this.#changes.alarm();
      const dueUs = this.#position.dueUs();
      if (dueUs <= this.#clock.now()) return true;
      if (dueUs > this.#deadlineUs) return false;
      this.#clock.sleepSync(dueUs, { strict: strict ?? false, alarm });
    }
  }

  /** Gives the tokens back, if no other call has taken tokens since. */
  leave(): void {
    this.#position.dueUs();
    const { receipt } = this.#position;
    if (receipt !== undefined) this.#kernel.cancel(receipt);
  }
}
