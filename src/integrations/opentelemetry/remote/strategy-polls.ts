import { systemClock } from '../../../time/system-clock.ts';
import { type Strategy, strategyIn } from './strategy.ts';
import type { StrategyBoard } from './strategy-board.ts';
import { ask, type StrategyRequest } from './strategy-request.ts';

/** Where strategies come from, and how often to ask for one. */
export interface Polling extends StrategyRequest {
  readonly pollMs: number;
}

/** What to do with the answers. */
interface Answers {
  /** Puts a strategy in force, for all threads. */
  readonly apply: (strategy: Strategy) => void;
  /** Hears of a poll that failed. */
  readonly report: (error: unknown) => void;
}

const RETRY_MS = 5;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/**
 * One thread's share in the polling. In each interval the first thread that gets to it asks the
 * server, so it does not matter which threads end.
 */
export class StrategyPolls {
  readonly #board: StrategyBoard;
  readonly #polling: Polling;
  readonly #answers: Answers;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(board: StrategyBoard, polling: Polling, answers: Answers) {
    this.#board = board;
    this.#polling = polling;
    this.#answers = answers;
  }

  /** Polls from now on, at once if no thread has in this interval. */
  start(): void {
    this.#tick();
    this.#timer = setInterval(() => this.#tick(), this.#polling.pollMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    // Of the system's clock, which all threads read alike.
    const turn = 1 + Math.floor(systemClock.now() / (this.#polling.pollMs * 1000));
    if (this.#board.takeTurn(turn | 0)) void this.poll();
  }

  /** Asks once; resolves with whether a strategy came. Never rejects. */
  async poll(): Promise<boolean> {
    const question = this.#board.ask();
    try {
      const strategy = strategyIn(await ask(this.#polling));
      await this.#write(() => {
        // One that was asked for later has been applied already if this answer was slow.
        if (this.#board.isNewest(question)) this.#answers.apply(strategy);
      });
      return true;
    } catch (error) {
      this.#board.fail();
      this.#answers.report(error);
      return false;
    }
  }

  /** One thread at a time. */
  async #write(action: () => void): Promise<void> {
    let mine = this.#board.lock();
    for (; mine === 0; mine = this.#board.lock()) await pause(RETRY_MS);
    try {
      action();
    } finally {
      this.#board.unlock(mine);
    }
  }
}
