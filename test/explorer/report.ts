import { markdownTable } from 'markdown-table';
import type { Exploration } from './exploration.ts';
import type { ExploredKernel } from './explored-kernel.ts';
import { type Listed, title } from './scenarios.ts';
import { scheduleText } from './schedule-text.ts';

/** The summary of one exploration. */
export interface Figures {
  readonly kernel: ExploredKernel;
  readonly subject: string;
  readonly name: string;
  /** Threads and operations of each. */
  readonly shape: string;
  readonly interleavings: number;
  readonly steps: number;
  readonly stops: number;
  readonly runs: number;
  readonly seconds: number;
  /** Whether it explored anything, and stopped threads where the scenario says so. */
  readonly isWhole: boolean;
  /** The schedule. */
  readonly violation: string | undefined;
}

export function figuresOf(
  { kernel, subject, name, threads, ...scenario }: Listed,
  { violation, ...exploration }: Exploration,
  seconds: number,
): Figures {
  const { interleavings, steps, stops, runs } = exploration;
  return {
    kernel,
    subject,
    name,
    shape: `${threads.length} x ${Math.max(...threads.map(({ length }) => length))}`,
    interleavings,
    steps,
    stops,
    runs,
    seconds,
    // Operations that write nothing take no steps.
    isWhole: interleavings > 0 && stops > 0 === (steps > 0 && scenario.stops === true),
    violation: violation && scheduleText(violation.schedule),
  };
}

function count(value: number): string {
  return value < 1e9 ? `${value}` : value.toExponential(1).replace('e+', 'e');
}

function verdict(group: readonly Figures[]): string {
  const violation = group.find((one) => one.violation !== undefined)?.violation;
  if (violation !== undefined) return `VIOLATION ${violation}`;
  return group.every(({ isWhole }) => isWhole) ? 'holds' : 'NOT EXPLORED';
}

/** Whether every scenario was explored to its end and none was violated. */
export function allHold(figures: readonly Figures[]): boolean {
  return verdict(figures) === 'holds';
}

const NUMBERS = ['interleavings', 'steps', 'stops', 'runs'] as const;
const HEAD = ['interleavings', 'steps', 'kills', 'real runs', 'seconds', 'verdict'];
const numbers = (figures: Figures) => [
  ...NUMBERS.map((name) => count(figures[name])),
  figures.seconds.toFixed(1),
  verdict([figures]),
];

/** One line for a scenario that was just explored. */
export function progress(one: Figures): string {
  return `${one.seconds.toFixed(1).padStart(6)} s  ${title(one)}: ${verdict([one])}`;
}

/** One line per scenario. */
export function fullTable(figures: readonly Figures[]): string {
  const rows = figures.map((one) => [
    one.kernel,
    one.subject,
    one.name,
    one.shape,
    ...numbers(one),
  ]);
  const head = ['kernel', 'subject', 'scenario', 'threads x operations', ...HEAD];
  return markdownTable([head, ...rows], {
    align: ['l', 'l', 'l', 'l', 'r', 'r', 'r', 'r', 'r', 'l'],
  });
}

/** One line per kernel, subject and shape, and the total. */
export function summaryTable(
  figures: readonly Figures[],
  seconds: number,
  machine: string,
): string {
  const groups = new Map<string, Figures[]>();
  for (const one of figures) {
    const key = `${one.kernel}|${one.subject}|${one.shape}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const sum = (group: readonly Figures[], field: (typeof NUMBERS)[number] | 'seconds') =>
    group.reduce((total, one) => total + one[field], 0);
  const row = (key: readonly string[], group: readonly Figures[]) => [
    ...key,
    `${group.length}`,
    ...NUMBERS.map((name) => count(sum(group, name))),
    sum(group, 'seconds').toFixed(1),
    verdict(group),
  ];
  const rows = [...groups].map(([key, group]) => row(key.split('|'), group));
  const head = ['kernel', 'subject', 'threads x operations', 'scenarios', ...HEAD];
  const table = markdownTable([head, ...rows, row(['all', '', ''], figures)], {
    align: ['l', 'l', 'l', 'r', 'r', 'r', 'r', 'r', 'r', 'l'],
  });
  return `${table}\n\n${machine}, ${seconds.toFixed(0)} s.`;
}
