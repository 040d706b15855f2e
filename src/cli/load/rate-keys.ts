import type { ReadStream } from 'node:tty';

/** The factor of one key press. The two keys undo each other. */
const STEP = 1.1;
const CTRL_C = '\x03';

/** Reads + and - from the terminal during a run. */
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

  /** Undefined if there is no terminal. */
  static on(stdin: ReadStream, steer: (factor: number) => void): RateKeys | undefined {
    return stdin.isTTY ? new RateKeys(stdin, steer) : undefined;
  }

  /** Restores the terminal. */
  dispose(): void {
    this.#stdin.off('data', this.#onData);
    this.#stdin.setRawMode(false);
    this.#stdin.pause();
  }

  readonly #onData = (keys: Buffer): void => {
    for (const key of keys.toString()) {
      // The unshifted + key on most keyboards.
      if (key === '+' || key === '=') this.#steer(STEP);
      if (key === '-') this.#steer(1 / STEP);
      // In raw mode the terminal does not turn Ctrl-C into a signal.
      if (key === CTRL_C) process.kill(process.pid, 'SIGINT');
    }
  };
}
