import type { Schedule } from '../../kernel/bucket/schedule.ts';
import { MAX_SPAN_TICKS } from '../../kernel/constants.ts';
import { tightest } from '../../kernel/limit-set/cell.ts';
import type { Schedules } from '../../limiters/limit.ts';
import { type Decision, decisionOf } from '../../limiters/state.ts';
import { systemClock } from '../../time/system-clock.ts';
import { limitsText, readLimits } from './limit-text.ts';
import type { Link } from './link.ts';
import { ANSWER } from './script/format.ts';
import { unreachable } from './server-error.ts';
import type { ServerNode } from './server-node.ts';
import {
  balanceOf,
  isFree,
  numberAt,
  outcomeOf,
  type Result,
  resultsAt,
  type Standing,
  untilUs,
} from './standing.ts';
import { type RunTakes, type TakeAnswer, TakeBatch } from './take-batch.ts';
import { ticksWord } from './ticks.ts';

/** An acquisition, and the state that it has left, for `cancel`. */
export interface Acquired extends Standing {
  /** Microseconds to wait before acting, LATER or NEVER. */
  readonly waitUs: number;
}

export interface RemoteOptions {
  readonly link: Link;
  readonly key: string;
  /** The limits to use if the key does not exist. */
  readonly schedules: Schedules;
  readonly timeoutMs: number;
  /** For tests: replaces the server's time. In whole microseconds. */
  readonly timeUs?: () => number;
  /** Called for each command sent. */
  readonly onCommand?: () => void;
}

/**
 * The operations of src/kernel on a bucket on a server. A call assumes the limits that the server
 * last reported. If others apply, the script changes nothing and returns them, and the call is
 * repeated.
 */
export class RemoteBucket {
  readonly #options: RemoteOptions;
  readonly #ownText: string;
  #schedules: Schedules;
  #text: string;
  /** Takes with equal terms may share a command. */
  #terms: string;
  readonly #run: RunTakes = (operation, words) => this.#call(operation, () => words);

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#schedules = options.schedules;
    this.#ownText = limitsText(options.schedules);
    this.#text = this.#ownText;
    this.#terms = this.#termsOf(this.#text);
  }

  #termsOf(text: string): string {
    return `${this.#options.timeoutMs} ${this.#ownText} ${text}`;
  }

  /** The current limits, as last reported by the server. */
  get schedules(): Schedules {
    return this.#schedules;
  }

  /** The lowest rate and the smallest burst of the current limits. */
  get schedule(): Schedule {
    return tightest(this.#schedules);
  }

  get node(): ServerNode {
    return this.#options.link.nodeOf(this.#options.key);
  }

  #learn(text: string): void {
    if (text === this.#text) return;
    this.#schedules = text === this.#ownText ? this.#options.schedules : readLimits(text);
    this.#text = text;
    this.#terms = this.#termsOf(text);
  }

  async #call(
    operation: string,
    words: (schedules: Schedules) => readonly string[],
  ): Promise<TakeAnswer> {
    const { link, key, timeoutMs, timeUs, onCommand } = this.#options;
    let nowUs = systemClock.now();
    const untilUs = nowUs + timeoutMs * 1000;
    for (;;) {
      const schedules = this.#schedules;
      const limits = this.#text;
      const rest = words(schedules);
      const answer = await link.ask(key, nowUs, untilUs, (deadlineUs) => {
        onCommand?.();
        const full = limits === this.#ownText ? `own ${operation}` : operation;
        const deadline = String(timeUs === undefined ? deadlineUs : -timeUs());
        return [full, limits, deadline, ...rest];
      });
      const code = Number(answer[0]);
      if (code === ANSWER.stale) this.#learn(String(answer[2]));
      else if (code === ANSWER.gone) this.#learn(this.#ownText);
      else if (code !== ANSWER.late) return { answer, schedules, limits };
      nowUs = systemClock.now();
      if (code === ANSWER.late && nowUs >= untilUs) {
        throw unreachable('the call reached the server after its deadline');
      }
    }
  }

  /** Runs an operation other than a take, after all earlier takes. */
  #operate(
    operation: string,
    words: (schedules: Schedules) => readonly string[],
  ): Promise<TakeAnswer> {
    const { link, key } = this.#options;
    TakeBatch.send(link.lines, key);
    return this.#call(operation, words);
  }

  /** Takes tokens in one command with other callers of this turn. */
  #take<T>(
    tokens: number,
    maxWaitUs: number,
    wantsState: boolean,
    read: (result: Result, standing: Standing | undefined) => T,
  ): Promise<T> {
    const { link, key } = this.#options;
    return new Promise((resolve, reject) => {
      TakeBatch.of(link.lines, key, this.#terms, this.#run).join({
        tokens,
        maxWaitUs,
        wantsState,
        resolve: (result, standing, limits) => {
          // Another bucket object of this key may have sent the command and learned of a change.
          this.#learn(limits);
          resolve(read(result, standing));
        },
        reject,
      });
    });
  }

  #takeAndLook<T>(
    tokens: number,
    maxWaitUs: number,
    read: (result: Result, standing: Standing) => T,
  ): Promise<T> {
    // The state is there: this take asked for it.
    return this.#take(tokens, maxWaitUs, true, (result, standing) =>
      read(result, standing as Standing),
    );
  }

  /** Takes tokens now or none. */
  tryTake(tokens: number): Promise<boolean> {
    return this.#take(tokens, 0, false, (result) => result === 0);
  }

  acquire(tokens: number, maxWaitUs: number): Promise<Acquired> {
    return this.#takeAndLook(tokens, maxWaitUs, (result, standing) => {
      // A free call never waits, even in debt.
      const dueUs = () => (isFree(standing, tokens) ? 0 : untilUs(standing, 0));
      return { ...standing, waitUs: result === 0 ? dueUs() : result };
    });
  }

  decide(tokens: number): Promise<Decision> {
    return this.#takeAndLook(tokens, 0, (result, standing) =>
      decisionOf(outcomeOf(standing, tokens, result === 0)),
    );
  }

  async drain(tokens: number): Promise<number> {
    const { answer, schedules } = await this.#operate('drain', (schedules) => {
      const whole = Math.floor(tokens);
      // The burst bounds the result, so the script's count stays exact.
      const bursts = schedules.filter((one) => one.ticksPerToken > 0).map(({ burst }) => burst);
      const most = Math.min(whole, ...bursts.map(Math.floor));
      return [String(most)];
    });
    return numberAt(answer, resultsAt(schedules));
  }

  async returnTokens(tokens: number): Promise<void> {
    await this.#operate('return', () => [String(Math.min(tokens, MAX_SPAN_TICKS))]);
  }

  /** Undoes an acquisition if nothing has been written since. One that was refused took nothing. */
  async cancel({ waitUs, originUs, limits, epoch }: Acquired): Promise<boolean> {
    if (waitUs < 0) return false;
    const { answer, schedules } = await this.#operate('cancel', () => [
      String(originUs),
      String(epoch),
      ...limits.flatMap(({ zeroTime, foundTime }) => [zeroTime, foundTime].map(ticksWord)),
    ]);
    return numberAt(answer, resultsAt(schedules)) === 1;
  }

  /** The fewest tokens under any limit. */
  balance(): Promise<number> {
    return this.#takeAndLook(0, 0, (_, standing) => balanceOf(standing));
  }

  timeUntil(tokens: number): Promise<number> {
    return this.#takeAndLook(0, 0, (_, standing) => untilUs(standing, tokens));
  }

  /** Replaces the limits by the result of `change`, which throws if it does not suit those in force. */
  async reconfigure(change: (schedules: Schedules) => Schedules): Promise<void> {
    try {
      change(this.#schedules);
    } catch {
      // Others may have changed the limits since the server last reported them: ask for those in force.
      await this.balance();
    }
    let text = this.#text;
    await this.#operate('change', (schedules) => {
      text = limitsText(change(schedules));
      return [text, text === this.#ownText ? '0' : '1'];
    });
    this.#learn(text);
  }
}
