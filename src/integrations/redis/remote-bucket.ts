import type { Outcome } from '../../kernel/bucket/kernel.ts';
import { tokensOf, untilHeld } from '../../kernel/bucket/record.ts';
import type { Schedule } from '../../kernel/bucket/schedule.ts';
import { MAX_SPAN_TICKS } from '../../kernel/constants.ts';
import { systemClock } from '../../time/system-clock.ts';
import { limitText, readLimit } from './limit-text.ts';
import type { Link } from './link.ts';
import { ANSWER } from './script/format.ts';
import type { ServerNode } from './server-node.ts';
import { debtUs, heldTicks, type Result, type Standing } from './standing.ts';
import { type RunTakes, type TakeAnswer, TakeBatch } from './take-batch.ts';
import { costOf, type Ticks, ticksWord } from './ticks.ts';

/** What an acquisition wrote, needed by `cancel`. */
export interface RemoteReceipt {
  readonly originUs: number;
  readonly zeroTime: Ticks;
  readonly generation: number;
  readonly cost: Ticks;
}

/** What an acquisition came to. */
export interface Acquired {
  /** Microseconds to wait before acting, LATER or NEVER. */
  readonly waitUs: number;
  readonly burst: number;
  /** The server's time, adjusted so that it never runs backwards. */
  readonly nowUs: number;
  readonly receipt: RemoteReceipt;
}

/** The parts of a bucket on a server. */
export interface RemoteOptions {
  readonly link: Link;
  readonly key: string;
  /** The limit to use if the key does not exist. */
  readonly schedule: Schedule;
  readonly timeoutMs: number;
  /** For tests: replaces the server's time, in whole microseconds. */
  readonly timeUs?: () => number;
  /** Called for each command that is sent. */
  readonly onCommand?: () => void;
}

/**
 * The operations of src/kernel on a bucket on a server. Divisions and roundings happen here, based
 * on the limit that the server last reported. If another limit applies by now, the script changes
 * nothing and returns it, and the call is repeated.
 */
export class RemoteBucket {
  readonly #options: RemoteOptions;
  readonly #ownText: string;
  #schedule: Schedule;
  #text: string;
  readonly #run: RunTakes = (operation, words) => this.#call(operation, words);

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#schedule = options.schedule;
    this.#ownText = limitText(options.schedule);
    this.#text = this.#ownText;
  }

  /** The current limit, as last reported by the server. */
  get schedule(): Schedule {
    return this.#schedule;
  }

  /** The server on which the bucket lies. */
  get node(): ServerNode {
    return this.#options.link.nodeOf(this.#options.key);
  }

  #learn(text: string): void {
    if (text === this.#text) return;
    this.#schedule = text === this.#ownText ? this.#options.schedule : readLimit(text);
    this.#text = text;
  }

  async #call(
    operation: string,
    words: (schedule: Schedule) => readonly string[],
  ): Promise<TakeAnswer> {
    const { link, key, timeoutMs, timeUs, onCommand } = this.#options;
    const untilUs = systemClock.now() + timeoutMs * 1000;
    for (;;) {
      const schedule = this.#schedule;
      const limit = this.#text;
      const full = limit === this.#ownText ? `own ${operation}` : operation;
      const rest = words(schedule);
      const answer = await link.ask(key, untilUs, (deadlineUs) => {
        onCommand?.();
        const deadline = String(timeUs === undefined ? deadlineUs : -timeUs());
        return [full, limit, deadline, ...rest];
      });
      const code = Number(answer[0]);
      if (code === ANSWER.stale) this.#learn(String(answer[2]));
      else if (code === ANSWER.gone) this.#learn(this.#ownText);
      else return { answer, schedule, limit };
    }
  }

  /** An operation that is no take, after all takes that were called before it. */
  #operate(
    operation: string,
    words: (schedule: Schedule) => readonly string[],
  ): Promise<TakeAnswer> {
    TakeBatch.send(this.#options.link, this.#options.key);
    return this.#call(operation, words);
  }

  /** Takes tokens, in one command with other callers of this turn. */
  #take<T>(
    tokens: number,
    maxWaitUs: number,
    wantsState: boolean,
    read: (result: Result, standing: Standing | undefined) => T,
  ): Promise<T> {
    const { link, key, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      TakeBatch.of(link, key, `${timeoutMs} ${this.#ownText} ${this.#text}`, this.#run).join({
        tokens,
        maxWaitUs,
        wantsState,
        resolve: (result, standing, limit) => {
          // Another bucket object of this key may have asked, and learned of a change.
          this.#learn(limit);
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
    // A take that asks for the state gets it.
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
      const { schedule, originUs, nowUs, zeroTime, generation } = standing;
      const { ticksPerToken, burst } = schedule;
      const cost = costOf(tokens, ticksPerToken, Math.ceil);
      // A call that costs nothing never waits, even in debt.
      const waitUs = cost === 0 ? 0 : result === 0 ? debtUs(standing) : result;
      return { waitUs, burst, nowUs, receipt: { originUs, zeroTime, generation, cost } };
    });
  }

  decide(tokens: number): Promise<Outcome> {
    return this.#takeAndLook(tokens, 0, (result, standing) => {
      const { schedule, nowUs } = standing;
      const held = heldTicks(standing);
      const wanted = Number(costOf(tokens, schedule.ticksPerToken, Math.ceil));
      const allowed = result === 0;
      return {
        allowed,
        burst: schedule.burst,
        balance: tokensOf(schedule, held),
        retryUs: allowed ? 0 : untilHeld(standing, nowUs, held, wanted),
        fullUs: untilHeld(standing, nowUs, held, Number(schedule.capTicks)),
      };
    });
  }

  async drain(tokens: number): Promise<number> {
    const { answer } = await this.#operate('drain', ({ ticksPerToken, burst }) => {
      const whole = Math.floor(tokens);
      // The burst bounds the result, and the script can count up to it exactly.
      const most = ticksPerToken === 0 ? whole : Math.min(whole, Math.floor(burst));
      return [ticksWord(costOf(most, ticksPerToken, Math.ceil)), String(most)];
    });
    return Number(answer[6]);
  }

  async returnTokens(tokens: number): Promise<void> {
    await this.#operate('return', ({ ticksPerToken }) => [
      ticksWord(costOf(Math.min(tokens, MAX_SPAN_TICKS), ticksPerToken, Math.floor)),
    ]);
  }

  /** Undoes an acquisition if nothing was written since. */
  async cancel({ originUs, zeroTime, generation, cost }: RemoteReceipt): Promise<boolean> {
    const { answer } = await this.#operate('cancel', () => [
      ticksWord(cost),
      ticksWord(zeroTime),
      String(originUs),
      String(generation),
    ]);
    return Number(answer[6]) === 1;
  }

  balance(): Promise<number> {
    return this.#takeAndLook(0, 0, (_, standing) =>
      tokensOf(standing.schedule, heldTicks(standing)),
    );
  }

  timeUntil(tokens: number): Promise<number> {
    return this.#takeAndLook(0, 0, (_, standing) => {
      const { schedule, nowUs } = standing;
      const wanted = Number(costOf(tokens, schedule.ticksPerToken, Math.ceil));
      return untilHeld(standing, nowUs, heldTicks(standing), wanted);
    });
  }

  /** Replaces the limit by the one that `change` derives from it. */
  async reconfigure(change: (schedule: Schedule) => Schedule): Promise<void> {
    let next = this.#schedule;
    await this.#operate('change', (schedule) => {
      next = change(schedule);
      const text = limitText(next);
      return ['0', text, text === this.#ownText ? '0' : '1'];
    });
    this.#learn(limitText(next));
  }
}
