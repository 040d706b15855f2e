import type { Call, Work } from './call.ts';
import type { Outcome, ThrottleStats } from './stats.ts';

/** Runs calls, and counts all calls by their outcomes. */
export class Runner<Job> {
  readonly #work: Work<Job>;
  #running = 0;
  readonly #ended: Record<Outcome, number> = {
    completed: 0,
    failed: 0,
    refused: 0,
    timedOut: 0,
    aborted: 0,
  };

  constructor(work: Work<Job>) {
    this.#work = work;
  }

  get running(): number {
    return this.#running;
  }

  stats(waiting: number): ThrottleStats {
    return { waiting, running: this.#running, ...this.#ended };
  }

  /** Calls the function at once. The call settles as the function does, unless `finish` throws. */
  async run(
    { job, resolve, reject }: Call<Job>,
    finish: (error: readonly [unknown] | undefined) => void,
  ): Promise<void> {
    this.#running++;
    let error: readonly [unknown] | undefined;
    let result: unknown;
    try {
      result = await this.#work.start(job);
    } catch (reason) {
      error = [reason];
    }
    this.#running--;
    try {
      finish(error);
    } catch (reason) {
      // The function's own error matters more.
      error ??= [reason];
    }
    this.#ended[error === undefined ? 'completed' : 'failed']++;
    if (error === undefined) resolve(result);
    else reject(error[0]);
  }

  /** Ends a call that does not start. */
  end({ job, resolve, reject }: Call<Job>, reason: unknown, outcome: Outcome): void {
    this.#ended[outcome]++;
    if (outcome !== 'aborted' || this.#work.aborted === undefined) reject(reason);
    else resolve(this.#work.aborted(job, reason));
  }
}
