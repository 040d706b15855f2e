import { RateLimitError } from '../../errors.ts';
import { systemClock } from '../../time/system-clock.ts';
import { type RedisClient, type RunScript, scriptRunner } from './client.ts';
import { NO_BUCKET } from './script/bucket.ts';

/** The first pause after a failure, and the longest. */
const PAUSE_US = 50_000;
const MAX_PAUSE_US = 2_000_000;

const links = /* @__PURE__ */ new WeakMap<RedisClient, Link>();

/** The error of a call without an answer. */
export function unreachable(message: string, cause?: unknown): RateLimitError {
  return new RateLimitError('ERR_UNREACHABLE', message, cause === undefined ? {} : { cause });
}

export function isUnreachable(error: unknown): error is RateLimitError {
  return error instanceof RateLimitError && error.code === 'ERR_UNREACHABLE';
}

/**
 * A connection to a server, shared by all buckets that use the same client: whether the server
 * answers, and how far its clock is ahead.
 *
 * After a failure, calls fail at once for a pause instead of each waiting for a dead server. Then
 * one call tries again; each further failure doubles the pause. Any answer, however late, ends it.
 */
export class Link {
  readonly #run: RunScript;
  /**
   * Upper bound on how far the server's clock is ahead of ours. Initially unknown: the first call
   * then arrives with a deadline in the past, and the server's reply contains its clock.
   */
  #aheadUs = Number.NEGATIVE_INFINITY;
  #failure: RateLimitError | undefined;
  #pauseUs = 0;
  #pausedUntilUs = 0;
  readonly #waiting = new Set<() => void>();

  private constructor(client: RedisClient) {
    this.#run = scriptRunner(client);
    // Without a listener a broken connection would end the process. The calls report the error.
    client.on('error', () => undefined);
  }

  /** @throws TypeError if `client` is not a client. */
  static of(client: RedisClient): Link {
    const known = links.get(client);
    if (known !== undefined) return known;
    const link = new Link(client);
    links.set(client, link);
    return link;
  }

  /** Whether the server answered the last call. */
  get isUp(): boolean {
    return this.#failure === undefined;
  }

  /** No call is sent before this instant of our clock. */
  get retryAtUs(): number {
    return this.#failure === undefined ? 0 : this.#pausedUntilUs;
  }

  /** Calls `wake` once, when the server answers again. Returns a function that cancels it. */
  onceUp(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /**
   * Runs the script on a key and returns its answer. `words` receives the deadline by the server's
   * clock: after it the script does nothing, even if the command was queued or sent again.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if there is no answer by `untilUs` of our clock, or
   * calls are paused; `ERR_KEY_INVALID` if the key holds something else.
   */
  async ask(
    key: string,
    untilUs: number,
    words: (deadlineUs: number) => readonly string[],
  ): Promise<string[]> {
    for (;;) {
      const sentUs = systemClock.now();
      await this.#admit(sentUs, untilUs);
      const deadlineUs = Math.max(0, Math.floor(untilUs + this.#aheadUs));
      const answer = await this.#answered(key, words(deadlineUs), sentUs, untilUs);
      if (answer[0] !== 'late') return answer;
      if (systemClock.now() >= untilUs)
        throw unreachable('the call reached the server after its deadline');
    }
  }

  /** After a pause, lets through one call at a time until the server answers. */
  async #admit(nowUs: number, untilUs: number): Promise<void> {
    if (this.#failure === undefined) return;
    if (nowUs < this.#pausedUntilUs) {
      // Yields, so that a caller that retries in a loop does not starve the reading of the answer.
      await new Promise((resolve) => setImmediate(resolve));
      throw unreachable('the server is unreachable, and calls to it are paused', this.#failure);
    }
    this.#pausedUntilUs = untilUs;
  }

  #answered(
    key: string,
    words: readonly string[],
    sentUs: number,
    untilUs: number,
  ): Promise<string[]> {
    return new Promise((resolve, reject) => {
      const wasUp = this.isUp;
      let isOver = false;
      const giveUp = () => {
        if (isOver) return;
        isOver = true;
        reject(this.#fail(unreachable('the server has not answered in time'), wasUp));
      };
      const leftMs = Math.max(0, Math.ceil((untilUs - sentUs) / 1000));
      // This thread may have been too busy to read an answer that has arrived: read it first.
      const timer = setTimeout(() => setImmediate(giveUp), leftMs);
      this.#run(key, words).then(
        (reply) => {
          clearTimeout(timer);
          // Strings, numbers or bytes, depending on the client's settings.
          const answer = Array.isArray(reply) ? reply.map(String) : [];
          const serverUs = Number(answer[1]);
          if (Number.isFinite(serverUs)) this.#succeed(serverUs, sentUs);
          if (isOver) return;
          isOver = true;
          if (Number.isFinite(serverUs)) resolve(answer);
          else reject(this.#failureOf(new Error('unexpected answer'), wasUp));
        },
        (error: unknown) => {
          clearTimeout(timer);
          if (isOver) return;
          isOver = true;
          reject(this.#failureOf(error, wasUp));
        },
      );
    });
  }

  #failureOf(error: unknown, wasUp: boolean): RateLimitError {
    const message = error instanceof Error ? error.message : String(error);
    if (message.includes(NO_BUCKET) || message.includes('WRONGTYPE')) {
      this.#mend();
      return new RateLimitError('ERR_KEY_INVALID', 'the key holds something that is not a bucket', {
        cause: error,
      });
    }
    return this.#fail(unreachable(`the call to the server failed: ${message}`, error), wasUp);
  }

  #succeed(serverUs: number, sentUs: number): void {
    this.#aheadUs = serverUs - sentUs;
    this.#mend();
  }

  #mend(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#pauseUs = 0;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Failures of calls sent before the first failure do not lengthen the pause. */
  #fail(failure: RateLimitError, wasUp = true): RateLimitError {
    if (this.#failure === undefined || !wasUp) {
      this.#pauseUs = Math.min(Math.max(2 * this.#pauseUs, PAUSE_US), MAX_PAUSE_US);
      this.#pausedUntilUs = systemClock.now() + this.#pauseUs;
    }
    this.#failure = failure;
    return failure;
  }
}
