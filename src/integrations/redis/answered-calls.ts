import { NEVER } from '../../kernel/bucket/kernel.ts';
import { type BucketCalls, REFUSED } from '../../limiters/bucket-calls.ts';
import type { Schedules } from '../../limiters/limit.ts';
import { type Decision, decisionOf, type LimitState } from '../../limiters/state.ts';
import { exceeds } from '../../limiters/waiting.ts';
import { checkSpanMs, checkTokens } from '../../options.ts';
import { systemClock } from '../../time/system-clock.ts';
import type { Answers } from './answers.ts';
import type { CallCounts } from './redis-stats.ts';
import type { RemoteBucket } from './remote-bucket.ts';

/** The parts of a bucket that its calls use. */
export interface AskedBucket {
  readonly remote: RemoteBucket;
  readonly answers: Answers;
  readonly counts: CallCounts;
  /** This process's share, for `whenUnreachable: 'local'`. */
  readonly local: () => BucketCalls;
}

/**
 * The calls that only wait for the server, each with its result while the server is unreachable.
 * They check their arguments, since another async function around them takes time.
 */
export class AnsweredCalls {
  readonly #remote: RemoteBucket;
  readonly #answers: Answers;
  readonly #counts: CallCounts;
  readonly #local: () => BucketCalls;

  constructor({ remote, answers, counts, local }: AskedBucket) {
    this.#remote = remote;
    this.#answers = answers;
    this.#counts = counts;
    this.#local = local;
  }

  async tryConsume(n: number): Promise<boolean> {
    checkTokens('n', n);
    let isAdmitted: boolean;
    // As `Answers.ask` does, with one promise fewer: this and `decide` are called most often.
    try {
      isAdmitted = await this.#remote.tryTake(n);
      this.#answers.countAnswer();
    } catch (error) {
      isAdmitted = this.#answers.instead(error, {
        refuse: () => false,
        local: () => this.#local().tryConsume(n),
      });
    }
    this.#counts.count(isAdmitted ? n : 0, !isAdmitted);
    return isAdmitted;
  }

  async drain(n: number): Promise<number> {
    checkTokens('n', n);
    const taken = await this.#answers.ask(() => this.#remote.drain(n), {
      refuse: () => 0,
      local: () => this.#local().consumeOrDrain(n),
    });
    this.#counts.count(taken, taken === 0 && n >= 1);
    return taken;
  }

  async decide(n: number): Promise<Decision> {
    checkTokens('n', n);
    let decision: Decision;
    try {
      decision = decisionOf(await this.#remote.decide(n));
      this.#answers.countAnswer();
    } catch (error) {
      decision = this.#answers.instead(error, {
        refuse: () => this.#refusal(),
        local: () => this.#local().decide(n),
      });
    }
    this.#counts.count(decision.allowed ? n : 0, !decision.allowed);
    return decision;
  }

  #refusal(): Decision {
    const { schedules, schedule, node } = this.#remote;
    const retryAfterMs = Math.max(0, node.retryAtUs - systemClock.now()) / 1000;
    const state = (limit: number): LimitState => {
      const never = Number.POSITIVE_INFINITY;
      return { limit, remaining: 0, retryAfterMs, resetMs: never, nextTokenMs: never };
    };
    const limits = schedules.map(({ burst }) => state(burst));
    return {
      allowed: false,
      ...state(schedule.burst),
      ...(limits.length > 1 && { limits }),
    };
  }

  /** Resolves with the milliseconds to wait, or `REFUSED`. */
  async acquire(n: number, maxWaitMs: number): Promise<number> {
    checkTokens('n', n);
    checkSpanMs('maxWaitMs', maxWaitMs);
    const waitMs = await this.#answers.ask(
      async () => {
        const { waitUs } = await this.#remote.acquire(n, maxWaitMs * 1000);
        return waitUs < 0 ? waitUs : waitUs / 1000;
      },
      { refuse: () => REFUSED, local: () => this.#local().acquire(n, maxWaitMs) },
    );
    this.#counts.count(waitMs < 0 ? 0 : n, waitMs < 0);
    if (waitMs === NEVER) throw exceeds(n, this.#remote.schedule.burst);
    return waitMs;
  }

  async returnTokens(n: number): Promise<void> {
    checkTokens('n', n);
    const lapse = () => undefined;
    await this.#answers.ask(() => this.#remote.returnTokens(n), { refuse: lapse, local: lapse });
  }

  balance(): Promise<number> {
    return this.#answers.ask(() => this.#remote.balance(), {
      local: () => this.#local().balance(),
    });
  }

  timeUntil(tokens: number): Promise<number> {
    return this.#answers.ask(async () => (await this.#remote.timeUntil(tokens)) / 1000, {
      local: () => this.#local().timeUntil(tokens),
    });
  }

  reconfigure(change: (now: Schedules) => Schedules): Promise<void> {
    return this.#answers.ask(() => this.#remote.reconfigure(change), {});
  }
}
