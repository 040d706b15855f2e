import { shown } from '../../options.ts';
import type { Failure } from '../measure/errors.ts';
import type { ThreadTask } from '../threads/messages.ts';
import { UnreadyError } from '../threads/thread-port.ts';
import type { TaskModule } from './task.ts';

/** A task that is set up in this thread. */
export interface OpenTask {
  readonly call: TaskModule['default'];
  /**
   * Aborts the task's signal, then calls its `teardown`. Rejects with a message for the user if that
   * fails or times out.
   */
  close(): Promise<void>;
}

/**
 * Loads the module of a task and calls its `setup`.
 *
 * @throws UnreadyError if it is not a valid task, or if `setup` throws or rejects
 */
export async function openTask(
  { url, thread, threads, data }: ThreadTask,
  timeoutMs: number,
): Promise<OpenTask> {
  const module = await importTask(url);
  const end = new AbortController();
  try {
    await module.setup?.({ thread, threads, data, signal: end.signal });
  } catch (error) {
    throw new UnreadyError(`${named(url)}: setup failed: ${reasonOf(error)}`, { cause: error });
  }
  const tearDown = async () => {
    try {
      await module.teardown?.();
    } catch (error) {
      throw new Error(`teardown failed: ${reasonOf(error)}`, { cause: error });
    }
  };
  return {
    call: module.default,
    async close() {
      end.abort();
      let timer: NodeJS.Timeout | undefined;
      const tooLong = new Promise<never>((_, reject) => {
        const error = new Error(`teardown took longer than ${timeoutMs} ms`);
        timer = setTimeout(reject, timeoutMs, error);
      });
      await Promise.race([tearDown(), tooLong]).finally(() => clearTimeout(timer));
    },
  };
}

async function importTask(url: string): Promise<TaskModule> {
  const loaded = await load(url);
  const { default: call, setup, teardown } = loaded;
  if (typeof call !== 'function') {
    throw new UnreadyError(`${named(url)} must export a function as default, got ${shown(call)}`);
  }
  for (const [name, value] of Object.entries({ setup, teardown })) {
    if (value === undefined || typeof value === 'function') continue;
    throw new UnreadyError(`${named(url)}: ${name} must be a function, got ${shown(value)}`);
  }
  return loaded as unknown as TaskModule; // checked above
}

async function load(url: string): Promise<Record<string, unknown>> {
  try {
    return await import(url);
  } catch (error) {
    throw new UnreadyError(`${named(url)} cannot be loaded: ${reasonOf(error)}`, { cause: error });
  }
}

/** Names a module in an error. Long URLs are truncated. */
function named(url: string): string {
  return `task ${url.length > 200 ? `${url.slice(0, 60)}...` : url}`;
}

/** The message of a thrown value. */
function reasonOf(error: unknown): string {
  const { kind, example } = failureOf(error);
  return example === '' ? kind : `${kind}: ${example}`;
}

const MOST_OF_KIND = 80;
const MOST_OF_EXAMPLE = 200;

/** Names a thrown value. An error has its name, and its code if any. */
export function failureOf(thrown: unknown): Failure {
  try {
    if (typeof thrown !== 'object' || thrown === null) {
      return { kind: `thrown ${typeof thrown}`, example: cut(String(thrown), MOST_OF_EXAMPLE) };
    }
    const { name, code, message } = thrown as Record<'name' | 'code' | 'message', unknown>;
    const named = typeof name === 'string' && name !== '' ? name : 'thrown object';
    const kind = typeof code === 'string' ? `${named} ${code}` : named;
    return {
      kind: cut(kind, MOST_OF_KIND),
      example: cut(typeof message === 'string' ? message : '', MOST_OF_EXAMPLE),
    };
  } catch {
    // A getter of the value throws.
    return { kind: 'thrown object', example: '' };
  }
}

/** The first line, truncated to `most` characters. */
function cut(text: string, most: number): string {
  return (text.split('\n', 1)[0] ?? '').slice(0, most);
}

/** Whether a returned value must be awaited. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

/**
 * Calls back with the reason when this thread is about to end by itself: by an exit or an uncaught
 * error. Returns a function that removes the listeners.
 */
export function onThreadEnd(callback: (failure: string) => void): () => void {
  let uncaught: string | undefined;
  const onUncaught = (error: unknown) => {
    uncaught = reasonOf(error);
  };
  const onExit = (code: number) => callback(uncaught ?? `exited with code ${code}`);
  process.on('uncaughtExceptionMonitor', onUncaught);
  process.on('exit', onExit);
  return () => {
    process.off('uncaughtExceptionMonitor', onUncaught);
    process.off('exit', onExit);
  };
}

/**
 * Length of a task's data: as JSON, plus its typed arrays. The data itself may hold secrets.
 *
 * @returns 0 without data, null if it has no JSON form, such as a `bigint`
 */
export function dataBytesOf(data: unknown): number | null {
  if (data === undefined) return 0;
  let binary = 0;
  try {
    const text = JSON.stringify({ data }, function (this: Record<string, unknown>, key, value) {
      // `value` of a Buffer is already a list of numbers.
      const raw = this[key];
      if (!ArrayBuffer.isView(raw)) return value;
      binary += raw.byteLength;
      return 0;
    });
    return binary + Buffer.byteLength(text) - '{"data":}'.length;
  } catch {
    return null;
  }
}
