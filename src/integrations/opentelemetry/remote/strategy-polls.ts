import { systemClock } from '../../../time/system-clock.ts';
import { type Strategy, strategyIn } from './strategy.ts';
import type { StrategyBoard } from './strategy-board.ts';
import { ask, type StrategyRequest } from './strategy-request.ts';

/** The source of strategies and the polling interval. */
export interface Polling extends StrategyRequest {
  readonly pollMs: number;
}

/** Handlers of the responses. */
interface Answers {
  /** Applies a strategy for all threads. */
  readonly apply: (strategy: Strategy) => void;
  /** Reports a failed poll. */
  readonly report: (error: unknown) => void;
}

const RETRY_MS = 5;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/**
 * One thread's part in the polling. In each interval, the first thread to get to it polls, so
 * polling continues when threads end.
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

  /** Starts polling, immediately if no thread has polled in this interval. */
  start(): void {
    this.#tick();
    this.#timer = setInterval(() => this.#tick(), this.#polling.pollMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    // By the system clock, which is the same for all threads.
    const turn = 1 + Math.floor(systemClock.now() / (this.#polling.pollMs * 1000));
    if (this.#board.takeTurn(turn | 0)) void this.poll();
  }

  /** Polls once. Resolves with whether a strategy came. Never rejects. */
  async poll(): Promise<boolean> {
    const question = this.#board.ask();
    try {
      const strategy = strategyIn(await ask(this.#polling));
      await this.#write(() => {
        // If this response is late, a newer one may already be applied.
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
