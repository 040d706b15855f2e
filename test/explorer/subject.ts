import type { Outcome } from '../../src/kernel/bucket/kernel.ts';
import type { ExploredKernel } from './explored-kernel.ts';

/** One operation of a thread: a name that the subject knows, and its arguments. */
export type Operation = readonly [name: string, ...args: number[]];

/** The code under exploration: one instance per thread works on a region's memory. */
export interface Subject {
  /** Runs an operation. The result must survive JSON. */
  run(operation: Operation): unknown;
}

/** A decision in a form that survives JSON, which Infinity does not. */
export function verdict({
  allowed,
  balance,
  retryUs,
  fullUs,
}: Omit<Outcome, 'burst' | 'nextUs'>): unknown {
  return [allowed, balance, `${retryUs}`, `${fullUs}`];
}

/** A slow, obvious, sequential model of a subject. It defines the correct results. */
export interface Reference {
  /** Attaches a thread, which remembers its latest take. */
  attach(): Subject;
  /** The expected result of {@link SubjectModule.observe}. */
  observe(): unknown;
}

/** Creates a subject from functions, keyed by operation name. */
export function operations(
  functions: Readonly<Record<string, (...args: number[]) => unknown>>,
): Subject {
  return {
    run([name, ...args]: Operation): unknown {
      const operation = functions[name];
      if (operation === undefined) throw new Error(`no operation ${name}`);
      return operation(...args);
    },
  };
}

/** Creates the memory and subjects of a scenario. Loaded by the scheduler and the threads. */
export interface SubjectModule {
  /** Creates the memory. */
  create(setup: string): SharedArrayBuffer;
  /** Attaches a thread to it, by default with the `atomics` kernel. */
  attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject;
  /** The observable state of the memory when no thread runs. */
  observe(buffer: SharedArrayBuffer): unknown;
  /** A new model of what `create` creates. */
  reference(setup: string): Reference;
}
