import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { safeCommandLine } from './command-line.ts';

/** The circumstances of a run, for its reports. */
export interface About {
  /** The version of zerotime. */
  readonly version: string;
  readonly node: string;
  /** The command line, without secrets. */
  readonly commandLine: string;
  readonly machine: Machine;
}

/** A description of a machine, without its name. */
export interface Machine {
  readonly processor: string;
  /** Number of threads that can run at once. */
  readonly processors: number;
  readonly memoryBytes: number;
  readonly system: string;
}

/** @param args the command-line arguments */
export function aboutThisRun(version: string, args = process.argv.slice(2)): About {
  return {
    version,
    node: process.version,
    commandLine: safeCommandLine(args),
    machine: {
      processor: cpus()[0]?.model.trim() || 'unknown',
      processors: availableParallelism(),
      memoryBytes: totalmem(),
      system: `${type()} ${release()} ${arch()}`,
    },
  };
}

/** Describes a machine in one line. */
export function machineText({ processor, processors, memoryBytes, system }: Machine): string {
  return `${processors} x ${processor}, ${(memoryBytes / 2 ** 30).toFixed(1)} GiB, ${system}`;
}
