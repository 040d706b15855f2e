import { readFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** Longer than any file of tests takes on a busy machine: a test that waits times out before. */
const PATIENCE_MS = 300_000;

/** The processes that run tests. */
function runners(): number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1').trim();
  const isRunner = (pid: string) =>
    readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('vitest/dist/workers');
  return children.split(' ').filter(isRunner).map(Number);
}

/**
 * Names the files under test when none has ended for long, and kills their processes: a test that
 * blocks its thread never times out, and would hide what the others found. Linux only.
 */
export default class Stalls implements Reporter {
  readonly #running = new Set<string>();
  readonly #timer = setTimeout(() => this.#end(), PATIENCE_MS);

  onTestModuleQueued(file: TestModule): void {
    this.#running.add(file.moduleId);
  }

  onTestModuleEnd(file: TestModule): void {
    this.#running.delete(file.moduleId);
    this.#timer.refresh();
  }

  onTestRunEnd(): void {
    clearTimeout(this.#timer);
  }

  #end(): void {
    for (const file of this.#running) console.error(`FAILED: does not end: ${file}`);
    for (const pid of runners()) process.kill(pid, 'SIGKILL');
    // Files that were waiting for these processes follow in others.
    this.#running.clear();
    this.#timer.refresh();
  }
}
