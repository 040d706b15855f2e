import { type ComparisonLine, compareRuns } from '../../load/judge/comparison.ts';
import type { Noun } from '../format.ts';
import type { Verdict } from '../report/page.ts';
import type { RecordedRun } from './recorded-run.ts';
import { type CompareGates, failedGates, findingOf, nameOf, undecidedGate } from './verdict.ts';

/** Separates the files of two sides. */
const AGAINST = 'vs';

/** A group of runs to compare with other groups. The first side is the baseline. */
export interface Side {
  readonly name: string;
  readonly runs: readonly RecordedRun[];
}

/** Splits files into sides: at each `vs` or, without one, after each file. */
export function splitSides(words: readonly string[]): string[][] {
  if (!words.includes(AGAINST)) return words.map((word) => [word]);
  const sides: string[][] = [[]];
  for (const word of words) {
    if (word === AGAINST) sides.push([]);
    else sides.at(-1)?.push(word);
  }
  return sides;
}

export function sideOf(runs: readonly RecordedRun[]): Side {
  const [first] = runs;
  const others = runs.length - 1;
  const name = first?.path ?? '';
  return { name: others > 0 ? `${name} and ${others} more` : name, runs };
}

/** Lists the names under each of these keys, in order: `a: x, y; b: z`. */
function grouped(pairs: Iterable<readonly [key: string, name: string]>, colon: string): string {
  const groups = new Map<string, string[]>();
  for (const [key, name] of pairs) groups.set(key, [...(groups.get(key) ?? []), name]);
  return [...groups].map(([key, names]) => `${key}${colon}${names.join(', ')}`).join('; ');
}

/** A condition that is not equal in all runs, and which run has which value. */
interface Mismatch {
  readonly name: string;
  readonly text: string;
}

/** The conditions that are not equal in all runs. */
function mismatches(
  runs: readonly RecordedRun[],
  of: (run: RecordedRun) => ReadonlyMap<string, string>,
): Mismatch[] {
  const names = new Set(runs.flatMap((run) => [...of(run).keys()]));
  return [...names].flatMap((name) => {
    const values = runs.map((run) => [of(run).get(name) ?? 'none', run.path] as const);
    if (new Set(values.map(([value]) => value)).size === 1) return [];
    return [{ name, text: `${name}: ${grouped(values, ' in ')}` }];
  });
}

/** One side compared with the baseline. */
export interface SideComparison {
  readonly side: Side;
  readonly lines: readonly ComparisonLine[];
  /** One line per failed gate. */
  readonly failures: readonly string[];
  /** Figures that passed a gate only because their intervals are too wide. */
  readonly undecided: string | undefined;
}

/** The comparison of all sides. */
export interface Comparison {
  /** What the runs count. */
  readonly noun: Noun;
  /** Whether the runs are as fast as possible. They have rounds, and no latency. */
  readonly isClosed: boolean;
  readonly baseline: Side;
  readonly others: readonly SideComparison[];
  /** Conditions that differ and were allowed to. */
  readonly allowed: readonly string[];
  /** Reasons not to trust the figures. */
  readonly remarks: readonly string[];
}

/** Figures that differ because a condition does. A finding about them would mean nothing. */
const FOLLOWING: ReadonlyMap<string, readonly string[]> = new Map([
  ['rate', ['max', 'rate']],
  ['ramp', ['max', 'rate']],
  ['duration', ['max']],
]);

/** Thrown if runs have different conditions. */
class NotComparableError extends Error {
  override readonly name = 'NotComparableError';
}

/**
 * Compares each side with the first one.
 *
 * @param allow names of conditions that may differ
 * @throws NotComparableError that names all other conditions that differ
 */
export function compareSides(
  sides: readonly Side[],
  gates: CompareGates,
  allow: ReadonlySet<string>,
): Comparison {
  const [baseline, ...others] = sides;
  if (baseline === undefined) throw new TypeError('sides must not be empty');
  const runs = sides.flatMap((side) => side.runs);
  const isClosed = areClosed(runs);
  const noun = runs.every((run) => run.noun === 'calls') ? 'calls' : 'requests';
  const differing = mismatches(runs, ({ conditions }) => conditions);
  const refused = differing.filter(({ name }) => !allow.has(name));
  if (refused.length > 0) throw new NotComparableError(refusal(refused));
  const compared = others.map((side) => {
    const lines = compareRuns(baseline.runs, side.runs);
    const own = mismatches([...baseline.runs, ...side.runs], ({ conditions }) => conditions);
    const following = new Set(own.flatMap(({ name }) => FOLLOWING.get(name) ?? []));
    return { side, lines, left: lines.map(nameOf).filter((name) => following.has(name)) };
  });
  const left = new Set(compared.flatMap((one) => one.left));
  return {
    noun,
    isClosed,
    baseline,
    others: compared.map(({ side, lines: all, left: without }) => {
      const lines = all.filter((line) => !without.includes(nameOf(line)));
      return {
        side,
        lines,
        failures: failedGates(lines, gates, noun),
        undecided: undecidedGate(lines, gates),
      };
    }),
    allowed: differing.map((one) => {
      const following = FOLLOWING.get(one.name)
        ?.filter((name) => left.has(name))
        .join(', ');
      return one.text + (following ? `; not compared: ${following}` : '');
    }),
    remarks: [
      ...mismatches(runs, ({ circumstances }) => circumstances).map(({ text }) => text),
      ...runs.flatMap(({ path, doubts }) =>
        doubts.length === 0 ? [] : [`${path}: ${doubts.join('; ')}`],
      ),
    ],
  };
}

/** Runs at a rate have latencies, others have rounds: nothing to compare. */
function areClosed(runs: readonly RecordedRun[]): boolean {
  const closed = runs.find((run) => run.closed != null);
  const open = runs.find((run) => run.closed == null);
  if (closed === undefined || open === undefined) return open === undefined;
  throw new NotComparableError(
    `these runs are not comparable: ${closed.path} is as fast as possible, ${open.path} at a rate`,
  );
}

function refusal(refused: readonly Mismatch[]): string {
  const names = refused.map(({ name }) => name).join(',');
  return [
    'these runs are not comparable:',
    ...refused.map(({ text }) => `  ${text}`),
    `to compare them anyway, use --allow ${names}`,
  ].join('\n');
}

/** The findings about a side, such as `slower: p50, p99; lower: rate`, and the gates that failed. */
export function verdictsOf({ lines, failures }: SideComparison): [Verdict, ...Verdict[]] {
  const seen = lines.filter((line) => findingOf(line).isBetter !== undefined);
  const pairs = seen.map((line) => [findingOf(line).text, nameOf(line)] as const);
  const isNoWorse =
    failures.length === 0 && lines.every((line) => findingOf(line).isBetter !== false);
  return [
    { isGood: isNoWorse, text: grouped(pairs, ': ') || 'no difference seen' },
    ...failures.map((text) => ({ isGood: false, text: `gate failed: ${text}` })),
  ];
}

/** The assumptions behind the intervals, as sentences. */
export function assumptions({ isClosed, baseline, others }: Comparison): string[] {
  const counts = others.map(({ side }) => baseline.runs.length + side.runs.length);
  const spread =
    'With several runs per side, intervals come from the spread between runs (Welch) and assume that runs are independent.';
  const more = 'Give several runs per side: a1.json a2.json vs b1.json b2.json.';
  const single = isClosed
    ? 'With one run per side, intervals come from the spread between the rounds of each run. They assume that ' +
      `rounds are independent and ignore variation between runs. ${more}`
    : 'With one run per side, intervals come from the ranks of the latencies within each run, wider if parts ' +
      'of the run differ. They ignore slower changes and variation between runs: on a machine with other ' +
      `work, equal runs may differ. ${more}`;
  const borrowed = 'A side with a single run is assumed to vary as much as the other.';
  const isUneven = others.some(
    ({ side }, at) =>
      (counts[at] ?? 0) > 2 && (baseline.runs.length === 1 || side.runs.length === 1),
  );
  return [
    ...(counts.some((count) => count > 2) ? [spread] : []),
    ...(isUneven ? [borrowed] : []),
    ...(counts.some((count) => count === 2) ? [single] : []),
    `Each line has 95 % confidence by itself: if the sides are equal, up to one comparison in ${isClosed ? 'ten' : 'four'} still shows a difference in some line.`,
  ];
}
