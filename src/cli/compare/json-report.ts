import { writeOutput } from '../output-files.ts';
import { assumptions, type Comparison } from './comparison.ts';
import { findingOf, nameOf } from './verdict.ts';

/** Writes a comparison to a file or, as `-`, to standard output. */
export function writeJsonReport(path: string, comparison: Comparison, version: string): void {
  writeOutput(path, `${JSON.stringify(jsonReport(comparison, version), undefined, 2)}\n`);
}

const UNITS = { latency: 'ms', rate: 'perSecond', errors: 'share' } as const;

function jsonReport(comparison: Comparison, version: string): object {
  const { baseline, others, allowed, remarks } = comparison;
  return {
    zerotime: version,
    baseline: baseline.runs.map(({ path }) => path),
    allowed,
    remarks,
    assumptions: assumptions(comparison),
    compared: others.map(({ side, lines, failures, undecided }) => ({
      files: side.runs.map(({ path }) => path),
      failedGates: failures,
      undecided: undecided ?? null,
      figures: lines.map((line) => ({
        name: nameOf(line),
        unit: UNITS[line.figure.kind],
        baseline: line.baseline,
        compared: line.other,
        // Relative to the baseline; for errors, the difference of the shares.
        change: line.difference.value,
        interval: line.difference.interval ?? null,
        finding: findingOf(line).text,
      })),
    })),
  };
}
