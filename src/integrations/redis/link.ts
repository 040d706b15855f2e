import { RateLimitError } from '../../errors.ts';
import { systemClock } from '../../time/system-clock.ts';
import { type RedisClient, type RunScript, scriptRunner } from './client.ts';
import { NO_BUCKET } from './script.ts';

/** The first pause after a failure, and the longest that it grows to. */
const PAUSE_US = 50_000;
const MAX_PAUSE_US = 2_000_000;

const links = new WeakMap<RedisClient, Link>();

/** Why a call has no answer. */
export function unreachable(message: string, cause?: unknown): RateLimitError {
  return new RateLimitError('ERR_UNREACHABLE', message, cause === undefined ? {} : { cause });
}

export function isUnreachable(error: unknown): error is RateLimitError {
  return error instanceof RateLimitError && error.code === 'ERR_UNREACHABLE';
}

/**
 * One connection to a server, and what all buckets on it know of it: whether it answers, and what its
 * clock shows.
 *
 * After a failure no call is sent for a pause, so that none waits for a server that is gone. Then one
 * call tries; each time it fails the pause doubles. Any answer, however late, ends the pause.
 */
export class Link {
  readonly #run: RunScript;
  /**
   * How far the server's clock is ahead of ours, at most. Not known at first: then the server finds
   * that the call comes too late, which says what its clock shows.
   */
  #aheadUs = Number.NEGATIVE_INFINITY;
  #failure: RateLimitError | undefined;
  #pauseUs = 0;
  #pausedUntilUs = 0;
  readonly #waiting = new Set<() => void>();

  private constructor(client: RedisClient) {
    this.#run = scriptRunner(client);
    // Else a connection that breaks ends the process: what is wrong is told by the calls.
    client.on('error', () => undefined);
  }

  /** @throws TypeError for what is no client. */
  static of(client: RedisClient): Link {
    const known = links.get(client);
    if (known !== undefined) return known;
    const link = new Link(client);
    links.set(client, link);
    return link;
  }

  /** Whether the server answered the latest call. */
  get isUp(): boolean {
    return this.#failure === undefined;
  }

  /** The instant of our clock before which no call is sent. */
  get retryAtUs(): number {
    return this.#failure === undefined ? 0 : this.#pausedUntilUs;
  }

  /** Calls `wake`, once, when the server answers again; the returned function calls it off. */
  onceUp(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /**
   * Runs the script on a key, and returns its answer. `words` is given the instant of the
   * server's clock at which the caller gives up: the script does nothing after it, even if the command
   * has lain in a queue, or is sent again.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if there is no answer by `untilUs` of our clock, or
   * no call is sent now; `ERR_KEY_INVALID` if the key holds something else.
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
      if (systemClock.now() >= untilUs) throw unreachable('the call came too late to the server');
    }
  }

  /** One call at a time tries a server that does not answer. */
  async #admit(nowUs: number, untilUs: number): Promise<void> {
    if (this.#failure === undefined) return;
    if (nowUs < this.#pausedUntilUs) {
      // Who calls over and over must not keep the answer from being read.
      await new Promise((resolve) => setImmediate(resolve));
      throw unreachable('the server has not answered lately, and is not asked now', this.#failure);
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
      // An answer may lie there that this thread was too busy to read: read first.
      const timer = setTimeout(() => setImmediate(giveUp), leftMs);
      this.#run(key, words).then(
        (reply) => {
          clearTimeout(timer);
          // Strings, numbers or bytes, as the client was told to read them.
          const answer = Array.isArray(reply) ? reply.map(String) : [];
          const serverUs = Number(answer[1]);
          if (Number.isFinite(serverUs)) this.#succeed(serverUs, sentUs);
          if (isOver) return;
          isOver = true;
          if (Number.isFinite(serverUs)) resolve(answer);
          else reject(this.#failureOf(new Error('it answered something else'), wasUp));
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
      return new RateLimitError('ERR_KEY_INVALID', 'the key holds something that is no bucket', {
        cause: error,
      });
    }
    return this.#fail(unreachable(`the server cannot be asked: ${message}`, error), wasUp);
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

  /** Calls that were sent before the first failure, and fail as well, are no reason to pause longer. */
  #fail(failure: RateLimitError, wasUp = true): RateLimitError {
    if (this.#failure === undefined || !wasUp) {
      this.#pauseUs = Math.min(Math.max(2 * this.#pauseUs, PAUSE_US), MAX_PAUSE_US);
      this.#pausedUntilUs = systemClock.now() + this.#pauseUs;
    }
    this.#failure = failure;
    return failure;
  }
}
