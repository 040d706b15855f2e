import type { DriveResult } from '../../load/api/drive-result.ts';
import type { ClosedOptions } from '../../load/closed/run-closed.ts';
import type { About } from '../about.ts';
import { writeOutput } from '../output-files.ts';
import { taskTarget } from './json-report.ts';

/** Writes the result of a run with `--rate max` to a file or, as `-`, to standard output. */
export function writeClosedJson(
  path: string,
  { url: _, node, ...figures }: DriveResult,
  { task }: ClosedOptions,
  about: About,
  exitCode: number,
): void {
  const data = {
    zerotime: about.version,
    node,
    commandLine: about.commandLine,
    machine: about.machine,
    exitCode,
    target: taskTarget(task),
    ...figures,
    gates: figures.gates.map(({ gate, ...rest }) => ({ ...gate, ...rest })),
  };
  writeOutput(path, `${JSON.stringify(data, undefined, 2)}\n`);
}
