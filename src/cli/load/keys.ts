import type { ReadStream } from 'node:tty';
import { EXIT } from '../output.ts';

/** Factor per key press. The two keys cancel each other out. */
const STEP = 1.1;
const CTRL_C = '\x03';
/** The unshifted + key on most keyboards is =. */
const KEYS = /^[+=-]+$/;

/** The line that announces the keys. */
export const RATE_KEYS = '  + and - change the rate by 10 %';

/**
 * Reads + and - from the terminal during a run. Input is never echoed into the live line. Keys only
 * count once they are announced, so earlier input has no effect.
 */
export class RateKeys {
  readonly #stdin: ReadStream;
  #steer: ((factor: number) => void) | undefined;

  private constructor(stdin: ReadStream) {
    this.#stdin = stdin;
    stdin.setRawMode(true);
    stdin.on('data', this.#onData);
    stdin.resume();
  }

  /** Undefined if standard input is not a terminal. */
  static on(stdin: ReadStream): RateKeys | undefined {
    return stdin.isTTY ? new RateKeys(stdin) : undefined;
  }

  /** Keys count from now on. */
  enable(steer: (factor: number) => void): void {
    this.#steer = steer;
  }

  /** Restores the terminal. */
  dispose(): void {
    this.#stdin.off('data', this.#onData);
    this.#stdin.setRawMode(false);
    this.#stdin.pause();
  }

  readonly #onData = (typed: Buffer): void => {
    const text = typed.toString();
    // In raw mode the terminal does not turn Ctrl-C into a signal.
    for (const char of text) if (char === CTRL_C) process.kill(process.pid, 'SIGINT');
    // Ignore a - within other text, as in a pasted command.
    if (!KEYS.test(text)) return;
    for (const key of text) this.#steer?.(key === '-' ? 1 / STEP : STEP);
  };
}

/** Under `npm start`, one Ctrl-C arrives twice: from the terminal and from npm. */
const SAME_KEYPRESS_MS = 500;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Turns the first interrupt into an abort for a clean end. The second one exits immediately. */
export class Interrupt {
  readonly #abort = new AbortController();
  #firstAt = 0;

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Restores the default handling of the signals. */
  dispose(): void {
    for (const name of SIGNALS) process.off(name, this.#onSignal);
  }

  readonly #onSignal = (): void => {
    if (!this.signal.aborted) {
      this.#firstAt = performance.now();
      this.#abort.abort();
    } else if (performance.now() - this.#firstAt > SAME_KEYPRESS_MS) {
      process.exit(EXIT.interrupted);
    }
  };
}
