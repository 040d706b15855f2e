import { readFileSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { WebSocket } from 'undici';
import type { Reporter, TestModule } from 'vitest/node';

/** Longer than any file of tests takes on a busy machine: a test that waits times out before. */
const PATIENCE_MS = 300_000;
/** Then a thread has stopped where it is, unless it is blocked outside of JavaScript. */
const ANSWER_MS = 10_000;
/** Where a process listens for debuggers after SIGUSR1. */
const INSPECTOR = 'http://127.0.0.1:9229/json/list';

/** The processes that run tests. */
function runners(): number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1').trim();
  const isRunner = (pid: string) =>
    readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('vitest/dist/workers');
  return children.split(' ').filter(isRunner).map(Number);
}

const BLOCKED = 'its main thread is blocked outside of JavaScript';

/** A frame of a stopped thread, in the protocol of V8's inspector. */
interface Frame {
  readonly functionName: string;
  readonly location: { readonly scriptId: string; readonly lineNumber: number };
}

/** Where the main thread of a process is, even in an endless loop: asked as a debugger does. */
async function stackOf(pid: number): Promise<string> {
  process.kill(pid, 'SIGUSR1');
  await after(1_000);
  const answer = await fetch(INSPECTOR).catch(() => undefined);
  if (answer === undefined) return BLOCKED;
  const [{ webSocketDebuggerUrl }] = (await answer.json()) as [{ webSocketDebuggerUrl: string }];
  const socket = new WebSocket(webSocketDebuggerUrl);
  const scripts = new Map<string, string>();
  const paused = new Promise<string>((resolve) => {
    socket.onopen = () => {
      for (const [id, method] of ['Debugger.enable', 'Debugger.pause'].entries()) {
        socket.send(JSON.stringify({ id, method }));
      }
    };
    socket.onmessage = ({ data }) => {
      const { method, params } = JSON.parse(String(data));
      if (method === 'Debugger.scriptParsed') scripts.set(params.scriptId, params.url);
      if (method !== 'Debugger.paused') return;
      const frames = (params.callFrames as readonly Frame[]).map(
        ({ functionName, location: { scriptId, lineNumber } }) =>
          `at ${functionName || '(anonymous)'} (${scripts.get(scriptId)}:${lineNumber + 1})`,
      );
      resolve(frames.join('\n  '));
    };
  });
  return Promise.race([paused, after(ANSWER_MS, BLOCKED, { ref: false })]);
}

/** The processes that a process has started, and the states of all its threads. */
function factsOf(pid: number): string {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ');
  const commands = children.filter(Boolean).map((child) => {
    const words = readFileSync(`/proc/${child}/cmdline`, 'latin1').split('\0');
    return `\n  child ${child}: ${words.join(' ').slice(0, 200)}`;
  });
  return `${readFileSync(`/proc/${pid}/stat`, 'latin1').slice(0, 120)}${commands.join('')}`;
}

/**
 * Names the files under test when none has ended for long, says what their processes do, and kills
 * them: a test that blocks its thread never times out, and would hide what the others found. Linux
 * only.
 */
export default class Stalls implements Reporter {
  readonly #running = new Set<string>();
  readonly #timer = setTimeout(() => void this.#end(), PATIENCE_MS);

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

  async #end(): Promise<void> {
    for (const file of this.#running) console.error(`FAILED: does not end: ${file}`);
    this.#running.clear();
    // One by one: they would listen at the same port.
    for (const pid of runners()) {
      try {
        console.error(factsOf(pid));
        console.error(`  ${await stackOf(pid).catch(String)}`);
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
      await after(1_000);
    }
    // Files that were waiting for these processes follow in others.
    this.#timer.refresh();
  }
}
