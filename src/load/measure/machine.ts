import { createRequire } from 'node:module';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';

/** A description of a machine, without its name. */
export interface Machine {
  /** The model of its processors. */
  readonly processor: string;
  /** Number of threads that can run at once. */
  readonly processors: number;
  /** The size of its memory. */
  readonly memoryBytes: number;
  /** Operating system, its release, and the architecture. */
  readonly system: string;
}

/** What makes the load, or simulates it. */
export interface Client {
  /** The version of zerotime. */
  readonly zerotime: string;
  /** The version of Node.js. */
  readonly node: string;
  readonly machine: Machine;
}

/** Describes this process and its machine. */
export function thisClient(): Client {
  return {
    zerotime: thisVersion(),
    node: process.version,
    machine: {
      processor: cpus()[0]?.model.trim() || 'unknown',
      processors: availableParallelism(),
      memoryBytes: totalmem(),
      system: `${type()} ${release()} ${arch()}`,
    },
  };
}

/** The version of zerotime; `unknown` in a bundle that leaves its package behind. */
export function thisVersion(): string {
  try {
    const manifest: { version: string } = createRequire(import.meta.url)('zerotime/package.json');
    return manifest.version;
  } catch {
    return 'unknown';
  }
}
