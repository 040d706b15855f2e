import type { ReadStream } from 'node:tty';

/** One key press. The two undo each other. */
const STEP = 1.1;
const CTRL_C = '\x03';

/** Reads + and - from a terminal while a load runs. */
export class RateKeys {
  readonly #stdin: ReadStream;
  readonly #steer: (factor: number) => void;

  private constructor(stdin: ReadStream, steer: (factor: number) => void) {
    this.#stdin = stdin;
    this.#steer = steer;
    stdin.setRawMode(true);
    stdin.on('data', this.#onData);
    stdin.resume();
  }

  /** Undefined where there is no terminal. */
  static on(stdin: ReadStream, steer: (factor: number) => void): RateKeys | undefined {
    return stdin.isTTY ? new RateKeys(stdin, steer) : undefined;
  }

  /** Leaves the terminal as it was. */
  dispose(): void {
    this.#stdin.off('data', this.#onData);
    this.#stdin.setRawMode(false);
    this.#stdin.pause();
  }

  readonly #onData = (keys: Buffer): void => {
    for (const key of keys.toString()) {
      // The same key as + on most keyboards, without shift.
      if (key === '+' || key === '=') this.#steer(STEP);
      if (key === '-') this.#steer(1 / STEP);
      // In raw mode the terminal makes no signal of it.
      if (key === CTRL_C) process.kill(process.pid, 'SIGINT');
    }
  };
}
