import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../lib/cli/main.js', import.meta.url));

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The compiled command in its own process, with pipes instead of a terminal. */
export class Cli {
  readonly child: ChildProcess;
  readonly #stdout: string[] = [];
  readonly #stderr: string[] = [];
  readonly #closed: Promise<unknown[]>;

  /**
   * @param stdout in place of a pipe
   * @param shell a shell and its arguments, of which it runs the rest
   */
  constructor(
    args: readonly string[],
    stdout: number | 'pipe' = 'pipe',
    shell: readonly string[] = [],
  ) {
    const [program = '', ...rest] = [...shell, process.execPath, MAIN, ...args];
    this.child = spawn(program, rest, { stdio: ['ignore', stdout, 'pipe'] });
    this.#closed = once(this.child, 'close');
    this.child.stdout?.on('data', (chunk: Buffer) => this.#stdout.push(chunk.toString()));
    this.child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk.toString()));
  }

  /** Calls `onLine` with each line of the live output. */
  onLiveLine(onLine: (line: string) => void): void {
    if (this.child.stderr !== null) createInterface(this.child.stderr).on('line', onLine);
  }

  async finished(): Promise<CliRun> {
    await this.#closed;
    return {
      code: this.child.exitCode,
      stdout: this.#stdout.join(''),
      stderr: this.#stderr.join(''),
    };
  }
}

export function runCli(...args: ConstructorParameters<typeof Cli>): Promise<CliRun> {
  return new Cli(...args).finished();
}
