import { type ComparisonLine, compareRuns } from '../../load/comparison.ts';
import type { RecordedRun } from './recorded-run.ts';
import { type Mismatch, mismatches, mismatchText, type Side } from './sides.ts';
import { type CompareGates, failedGates, findingOf, nameOf, undecidedGate } from './verdict.ts';

/** One side compared with the baseline. */
export interface SideComparison {
  readonly side: Side;
  readonly lines: readonly ComparisonLine[];
  /** One line for each gate that failed. */
  readonly failures: readonly string[];
  /** What a gate let pass for want of knowledge. */
  readonly undecided: string | undefined;
}

/** All that is known of some files. */
export interface Comparison {
  readonly baseline: Side;
  readonly others: readonly SideComparison[];
  /** Conditions that were allowed to differ. */
  readonly allowed: readonly string[];
  /** What is to be known before any figure is trusted. */
  readonly remarks: readonly string[];
}

/** Thrown where runs are of different things. */
class NotComparableError extends Error {
  override readonly name = 'NotComparableError';
}

/**
 * Compares each side with the first one.
 *
 * @param allow the names of conditions that may differ
 * @throws NotComparableError that names each other condition in which runs differ
 */
export function compareSides(
  sides: readonly Side[],
  gates: CompareGates,
  allow: ReadonlySet<string>,
): Comparison {
  const [baseline, ...others] = sides;
  if (baseline === undefined) throw new TypeError('there must be a side');
  const runs = sides.flatMap((side) => side.runs);
  const differing = mismatches(runs, ({ conditions }) => conditions);
  const refused = differing.filter(({ name }) => !allow.has(name));
  if (refused.length > 0) throw new NotComparableError(refusal(refused, runs));
  return {
    baseline,
    others: others.map((side) => {
      const lines = compareRuns(baseline.runs, side.runs);
      return {
        side,
        lines,
        failures: failedGates(lines, gates),
        undecided: undecidedGate(lines, gates),
      };
    }),
    allowed: differing.map((one) => mismatchText(one, runs)),
    remarks: [
      ...mismatches(runs, ({ circumstances }) => circumstances).map((one) =>
        mismatchText(one, runs),
      ),
      ...runs.flatMap(({ path, doubts }) =>
        doubts.length === 0 ? [] : [`${path}: ${doubts.join('; ')}`],
      ),
    ],
  };
}

function refusal(refused: readonly Mismatch[], runs: readonly RecordedRun[]): string {
  const names = refused.map(({ name }) => name).join(',');
  return [
    'these runs are not comparable:',
    ...refused.map((one) => `  ${mismatchText(one, runs)}`),
    `compare them all the same with --allow ${names}`,
  ].join('\n');
}

/** `p50 and p99 slower, rate no difference seen`: the findings, each with its figures. */
export function findingText(lines: readonly ComparisonLine[]): string {
  const byFinding = new Map<string, string[]>();
  for (const line of lines) {
    const { text, isBetter } = findingOf(line);
    if (isBetter === undefined) continue;
    const names = byFinding.get(text) ?? [];
    names.push(nameOf(line));
    byFinding.set(text, names);
  }
  const texts = [...byFinding].map(([text, names]) => `${text}: ${names.join(', ')}`);
  return texts.length === 0 ? 'no difference seen' : texts.join('; ');
}

/** Whether nothing is worse than in the baseline. */
export function isNoWorse({ lines, failures }: SideComparison): boolean {
  return failures.length === 0 && lines.every((line) => findingOf(line).isBetter !== false);
}

/** What the intervals assume. */
export function assumptions({ baseline, others }: Comparison): string[] {
  const counts = others.map(({ side }) => baseline.runs.length + side.runs.length);
  const spread =
    'With several runs of a side, intervals come from the spread between runs (Welch), and assume that runs are independent.';
  const single =
    'With one run of each side, intervals come from the ranks of the latencies within each run, assume that ' +
    'requests are independent, and miss what differs from run to run. Stalls that hit many requests at once ' +
    'make them too narrow. Give several runs of a side: a1.json a2.json vs b1.json b2.json.';
  const borrowed = 'A side with a single run is assumed to vary as much as the other.';
  const isUneven = others.some(
    ({ side }, at) =>
      (counts[at] ?? 0) > 2 && (baseline.runs.length === 1 || side.runs.length === 1),
  );
  return [
    ...(counts.some((count) => count > 2) ? [spread] : []),
    ...(isUneven ? [borrowed] : []),
    ...(counts.some((count) => count === 2) ? [single] : []),
    'Each line has 95 % confidence by itself: among its lines, a comparison of equal sides shows a difference in about one of four cases.',
  ];
}
