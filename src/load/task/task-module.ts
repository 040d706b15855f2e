import { shown } from '../../options.ts';
import { UnreadyError } from '../unready-error.ts';
import { failureOf } from './failure.ts';
import type { TaskModule, TaskSetup } from './task.ts';

/** Loads the module of a task. Throws {@link UnreadyError} if it is not a valid task. */
export async function importTask(url: string): Promise<TaskModule> {
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

/** Calls `setup`. Throws {@link UnreadyError} if `setup` throws or rejects. */
export async function setUpTask(url: string, module: TaskModule, about: TaskSetup): Promise<void> {
  try {
    await module.setup?.(about);
  } catch (error) {
    throw new UnreadyError(`${named(url)}: setup failed: ${reasonOf(error)}`, { cause: error });
  }
}

/** Names a module in an error. Long URLs are truncated. */
function named(url: string): string {
  return `task ${url.length > 200 ? `${url.slice(0, 60)}...` : url}`;
}

/** The message of a thrown value. */
export function reasonOf(error: unknown): string {
  const { kind, example } = failureOf(error);
  return example === '' ? kind : `${kind}: ${example}`;
}
