import type { Outcome } from '../../src/kernel/bucket/kernel.ts';
import type { ExploredKernel } from './explored-kernel.ts';

/** One operation of a thread: a name that the subject knows, and its arguments. */
export type Operation = readonly [name: string, ...args: number[]];

/** Something that works on a region's memory: one instance for each thread. */
export interface Subject {
  /** Does an operation; what it returns must survive JSON. */
  run(operation: Operation): unknown;
}

/** What a decision says, in a form that survives JSON, as Infinity does not. */
export function verdict({ allowed, balance, retryUs, fullUs }: Omit<Outcome, 'burst'>): unknown {
  return [allowed, balance, `${retryUs}`, `${fullUs}`];
}

/** A slow, obvious model of a subject, for one caller at a time. It defines what is right. */
export interface Reference {
  /** Attaches a thread, which remembers what it took last. */
  attach(): Subject;
  /** What {@link SubjectModule.observe} must return. */
  observe(): unknown;
}

/** A subject of functions, by the names of their operations. */
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

/** How to make what is explored. Modules of this type are loaded by the scheduler and the threads. */
export interface SubjectModule {
  /** Lays the memory down. */
  create(setup: string): SharedArrayBuffer;
  /** Attaches to it, as each thread does; with the `atomics` kernel, or the one that is given. */
  attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject;
  /** What can be seen of the memory when all threads are at rest. */
  observe(buffer: SharedArrayBuffer): unknown;
  /** A new model of what `create` lays out. */
  reference(setup: string): Reference;
}
