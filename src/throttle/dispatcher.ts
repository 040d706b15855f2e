import { RateLimitError } from '../errors.ts';
import { checkOptions, type Known } from '../known-options.ts';
import type { CallOutcome } from '../limiters/adaptation.ts';
import { outcomeBy } from '../limiters/permit.ts';
import { timedOut } from '../limiters/waiting.ts';
import { shown } from '../options.ts';
import { Agenda, type Appointment, appointment, WORK_PER_TURN } from '../time/agenda.ts';
import type { Clock, Precision } from '../time/clock.ts';
import { Admission, type Bounds } from './admission.ts';
import {
  abortOf,
  type Call,
  inContext,
  newCall,
  type Outcome,
  outcomeOf,
  Runner,
  type ThrottleStats,
  throttleClosed,
  type Work,
} from './call.ts';
import type { Key } from './fair-queue.ts';
import type { Lane } from './lanes.ts';
import { WaitingCalls } from './waiting-calls.ts';

/** Options of `close`. */
export interface CloseOptions {
  /**
   * What happens to waiting calls: `'finish'`, the default, lets them start as usual; `'reject'`
   * rejects them with `ERR_THROTTLE_CLOSED`.
   */
  readonly waiting?: 'finish' | 'reject';
}

const CLOSE: Known<CloseOptions> = { waiting: true };

/** The parts of a `Dispatcher`, whose calls have these arguments. */
export interface DispatcherOptions<Args extends readonly unknown[]> extends Bounds {
  readonly clock: Clock;
  readonly maxQueue: number;
  readonly timeoutMs: number;
  readonly priorityOf: (...args: Args) => number;
  readonly keyOf: (...args: Args) => Key;
  readonly weightOf: (key: Key) => number;
  /** Called before a call waits. */
  readonly onDelay: ((...args: Args) => void) | undefined;
  /** The outcome of a failed call, for a semaphore that adapts. */
  readonly outcomeOf: (error: unknown) => CallOutcome;
}

/** Plans a look, which keeps the event loop alive; undefined cancels it. */
type Plan = (atUs: number | undefined) => void;

/**
 * Starts calls in the order of a fair queue, as an {@link Admission} allows. All waiting calls
 * share one sleeper, and all that are due start together.
 *
 * Invariant: no more lanes and tokens are promised than calls wait.
 */
export class Dispatcher<Args extends readonly unknown[], Job extends { readonly args: Args }> {
  readonly #clock: Clock;
  readonly #work: Work<Job>;
  readonly #options: DispatcherOptions<Args>;
  readonly #waiting: WaitingCalls<Job>;
  readonly #admission: Admission;
  readonly #runner: Runner<Job>;
  /** Plans the look at the first due token. */
  readonly #planDue: Plan;
  /** Plans the look at the first deadline. */
  readonly #planLate: Plan;
  /** Stops listening to changes of the limit. */
  #unwatch: (() => void) | undefined;
  /** Callers that wait until there is nothing to do. */
  #draining: (() => void)[] = [];
  /** The deadline for the latest promised token. */
  #neededUs = Number.POSITIVE_INFINITY;
  #isClosed = false;
  /** Whether the last look has left due calls to one in the next turn. */
  #hasMore = false;
  /** Whether calls wait, or waited at the last look. */
  #hasWaited = false;
  /** Calls that have started, and whose function is called in their context before long. */
  #beginning = 0;
  /** Called when no call waits any more. */
  onEmpty: () => void = () => undefined;

  constructor(work: Work<Job>, options: DispatcherOptions<Args>) {
    this.#options = options;
    this.#work = work;
    this.#clock = options.clock;
    this.#runner = new Runner(work);
    this.#waiting = new WaitingCalls(options.weightOf);
    this.#admission = new Admission(options, {
      onReady: () => void this.#advance(),
      onFailure: (reason) => this.#failNext(reason),
    });
    this.#planDue = this.#planner({});
    this.#planLate = this.#planner({ precise: false });
  }

  /** Number of waiting calls. */
  get length(): number {
    return this.#waiting.length;
  }

  /** Milliseconds since the oldest waiting call was made; 0 if none waits. */
  get oldestMs(): number {
    const { oldestUs = Number.POSITIVE_INFINITY } = this.#waiting;
    return Math.max(0, this.#clock.now() - oldestUs) / 1000;
  }

  stats(): ThrottleStats {
    return this.#runner.stats(this.#waiting.length);
  }

  /** Starts a call, or lets it wait. The promise settles as the work does. */
  submit(job: Job): Promise<unknown> {
    const { priorityOf, keyOf, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      try {
        const [priority, key] = [priorityOf(...job.args), keyOf(...job.args)];
        const signal = this.#work.signalOf(job);
        const call = newCall(job, signal, { resolve, reject }, this.#clock.now(), timeoutMs);
        this.#accept(call, priority, key);
      } catch (error) {
        this.#runner.end({ job, resolve, reject }, error, outcomeOf(error));
      }
    });
  }

  /** Refuses later calls. Resolves when earlier ones have ended. */
  async close(options: CloseOptions = {}): Promise<void> {
    const { waiting = 'finish' } = checkOptions(options, CLOSE);
    if (waiting !== 'finish' && waiting !== 'reject') {
      throw new TypeError(`waiting must be 'finish' or 'reject', got ${shown(waiting)}`);
    }
    this.#isClosed = true;
    if (waiting === 'reject') this.endAll(throttleClosed(), 'refused');
    await this.drain();
  }

  /** Resolves when no call waits or runs. */
  async drain(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#draining.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#runner.running === 0;
  }

  #drained(): void {
    if (this.#isIdle) for (const resolve of this.#draining.splice(0)) resolve();
  }

  /** Ends all waits: as an abort with this reason does, or with an error. */
  endAll(reason: unknown, outcome: Outcome): void {
    for (const call of this.#waiting.takeAll()) this.#runner.end(call, reason, outcome);
    this.#plan();
  }

  #checkOpen(): void {
    if (this.#isClosed) throw throttleClosed();
  }

  #checkRoom(): void {
    const { maxQueue } = this.#options;
    if (this.#waiting.length < maxQueue) return;
    throw new RateLimitError('ERR_QUEUE_FULL', `the queue is full: maxQueue is ${maxQueue}`);
  }

  #accept(call: Call<Job>, priority: number, key: Key): void {
    this.#checkOpen();
    const abort = call.signal && abortOf(call.signal);
    if (abort !== undefined) {
      this.#runner.end(call, abort[0], 'aborted');
      return;
    }
    const { timeoutMs, maxQueue, onDelay } = this.#options;
    const canWait = timeoutMs > 0 && maxQueue > 0;
    const lane =
      this.#waiting.length === 0 ? this.#admission.take(call.sinceUs, canWait) : undefined;
    if (lane !== undefined) {
      // In the order in which they were made: behind those that begin before long.
      if (this.#beginning > 0) this.#beginLater(call);
      this.#run(call, lane[0]);
      return;
    }
    this.#checkRoom();
    if (timeoutMs === 0) throw timedOut(1, 0);
    if (onDelay !== undefined) {
      onDelay(...call.job.args);
      // The callback may have closed or filled the queue.
      this.#checkOpen();
      this.#checkRoom();
    }
    this.#hasWaited = true;
    this.#beginLater(call);
    this.#waiting.enter(call, priority, key, this.#onAbort);
    this.#advance();
  }

  /** Lets the function of a call that starts be called in the context of now. */
  #beginLater(call: Call<Job>): void {
    call.start = inContext(() => {
      this.#beginning--;
      return this.#work.start(call.job);
    });
  }

  readonly #onAbort = (call: Call<Job>, reason: unknown): void => {
    this.#runner.end(call, reason, 'aborted');
    this.#plan();
  };

  async #run(call: Call<Job>, lane: Lane): Promise<void> {
    if (call.start !== undefined) this.#beginning++;
    await this.#runner.run(call, (error) => {
      const outcome = error === undefined ? 'ok' : outcomeBy(this.#options.outcomeOf, error[0]);
      this.#admission.finish(lane, outcome);
    });
    if (this.#waiting.length === 0) this.#drained();
    else if (!this.#hasMore) this.#advance();
  }

  /** Fails the next call, because the limiter or the semaphore refused it. */
  #failNext(reason: unknown): void {
    if (outcomeOf(reason) === 'timedOut' && this.#neededUs < Number.POSITIVE_INFINITY) {
      // The token was awaited for one call, but others may have overtaken or outlived that.
      while (this.#expireNext(this.#neededUs));
    } else if (!this.#endNext(reason)) {
      return;
    }
    this.#advance();
  }

  /** Ends the next call, which cannot start. Returns whether there was one. */
  #endNext(reason: unknown): boolean {
    const call = this.#waiting.take();
    if (call !== undefined) this.#runner.end(call, reason, outcomeOf(reason));
    return call !== undefined;
  }

  #planner(precision: Precision): Plan {
    const agenda = Agenda.of(this.#clock, precision);
    const look: Appointment = appointment(
      () => this.#advance(look.atUs),
      (reason) => this.endAll(reason, 'failed'),
    );
    return (atUs) => (atUs === undefined ? agenda.drop(look) : agenda.set(look, atUs));
  }

  /** Looks again at the next change of the limit. Call this before reading any due instant. */
  #watch(): void {
    const { changes } = this.#admission;
    this.#unwatch ??= changes?.listen(changes.observe(), () => {
      this.#unwatch = undefined;
      this.#advance();
    });
  }

  /** Looks at the calls. Returns the number of calls plus one for the look. */
  #advance(atUs = Number.NEGATIVE_INFINITY): number {
    try {
      return this.#look(atUs);
    } catch (error) {
      // A clock of the user's: nothing can start without it.
      this.endAll(error, 'failed');
      return 1;
    }
  }

  /** Starts or expires calls that are due, at most {@link WORK_PER_TURN} at one look. */
  #look(atUs: number): number {
    let left = WORK_PER_TURN;
    this.#watch();
    // Read the clock first: tokens due by then stay due, whatever changes afterwards. If it reads
    // less than the instant of the look, another look would spin.
    const nowUs = Math.max(this.#clock.now(), atUs);
    while (left > 0 && this.#startNext(nowUs)) left--;
    while (left > 0 && this.#expireNext(nowUs)) left--;
    while (left > 0 && (this.#startNext(nowUs) || this.#promiseNext(nowUs))) left--;
    this.#hasMore = left === 0;
    this.#plan();
    return WORK_PER_TURN - left + 1;
  }

  /** Starts a call if a lane and a token are due. */
  #startNext(nowUs: number): boolean {
    if (this.#waiting.length === 0) return false;
    let lane: readonly [Lane] | undefined;
    try {
      lane = this.#admission.take(nowUs);
    } catch (error) {
      return this.#endNext(error);
    }
    if (lane === undefined) return false;
    const call = this.#waiting.take();
    // A limiter or clock of the user's may have aborted the last call, or have started it.
    if (call === undefined) this.#admission.giveUp(lane[0]);
    else this.#run(call, lane[0]);
    return call !== undefined;
  }

  /** Refuses a call whose deadline has passed. */
  #expireNext(nowUs: number): boolean {
    const late = this.#waiting.takeLate(nowUs);
    if (late === undefined) return false;
    this.#timeOut(late);
    return true;
  }

  /** Promises a lane and a token, or refuses a call that could not start in time. */
  #promiseNext(nowUs: number): boolean {
    const { promised } = this.#admission;
    const { length } = this.#waiting;
    if (promised >= length) return false;
    // Only the last call is known to need this token, so only it can be refused now.
    const last = promised + 1 === length ? this.#waiting.last : undefined;
    const neededUs = last?.atUs ?? Number.POSITIVE_INFINITY;
    try {
      const isPromised = this.#admission.promise(nowUs, Math.max(0, neededUs - nowUs) / 1000);
      if (isPromised) this.#neededUs = neededUs;
      if (isPromised !== undefined) return isPromised;
      // A limiter of the user's may have ended the last call meanwhile.
      if (last === undefined) this.#timeOut(this.#waiting.take());
      else if (this.#waiting.remove(last)) this.#timeOut(last);
    } catch (error) {
      this.#endNext(error);
    }
    return true;
  }

  #timeOut(call: Call<Job> | undefined): void {
    if (call === undefined) return;
    this.#runner.end(call, timedOut(1, this.#options.timeoutMs), 'timedOut');
  }

  /**
   * Returns the promises that no waiting call needs, and plans the next looks: at the first due
   * token and at the first deadline.
   */
  #plan(): void {
    const { length } = this.#waiting;
    this.#admission.trim(length);
    const { promised, lookUs } = this.#admission;
    const dueUs = promised > 0 ? lookUs : undefined;
    // A clock that cannot sleep fails all calls: another look would fail none, and be planned again.
    this.#planDue(this.#hasMore && length > 0 ? this.#clock.now() : dueUs);
    this.#planLate(this.#waiting.deadlineUs);
    if (length > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#drained();
    if (this.#hasWaited) this.onEmpty();
    this.#hasWaited = false;
  }
}
