import { keyOf } from './list.ts';
import type { Branch, Mutant } from './transform.ts';
import type { Fate } from './trial.ts';

/** Reasons, and the mutants that survive for each. */
export type Judgements = Readonly<Record<string, readonly string[]>>;

/** A mutant that was tried. */
export interface Tried {
  readonly mutant: Mutant;
  readonly fate: Fate;
  /** Whether any scene comes by its place. */
  readonly isReached: boolean;
}

export interface Findings {
  readonly tried: readonly Tried[];
  /** Conditions that always went one way, and functions that were not called. */
  readonly oneWay: readonly { readonly branch: Branch; readonly missing: boolean }[];
  readonly scenes: number;
  readonly calls: number;
}

/** What the judgements do not say, or say in vain. */
export interface Gaps {
  readonly unexplained: readonly string[];
  readonly stale: readonly string[];
}

function reasonsOf(judgements: Judgements): ReadonlyMap<string, string> {
  const pairs = Object.entries(judgements).flatMap(([why, keys]) =>
    keys.map((key): [string, string] => [key, why]),
  );
  return new Map(pairs);
}

function survivors({ tried }: Findings): readonly Tried[] {
  return tried.filter(({ fate }) => fate === 'survived');
}

export function gapsOf(
  findings: Findings,
  judgements: Judgements,
  untried: readonly Mutant[] = [],
): Gaps {
  const reasons = reasonsOf(judgements);
  const keys = new Set(survivors(findings).map(({ mutant }) => keyOf(mutant)));
  const open = new Set(untried.map(keyOf));
  return {
    unexplained: [...keys].filter((key) => !reasons.has(key)),
    stale: [...reasons.keys()].filter((key) => !keys.has(key) && !open.has(key)),
  };
}

const FATES = ['answer', 'memory', 'accesses', 'endless', 'survived'] as const;

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(1)} %`;
}

function row(name: string, tried: readonly Tried[]): string {
  const counts = FATES.map((fate) => tried.filter((other) => other.fate === fate).length);
  const lived = counts.at(-1) ?? 0;
  return `| ${name} | ${tried.length} | ${counts.join(' | ')} | ${percent(tried.length - lived, tried.length)} |`;
}

function scoreTable({ tried }: Findings): string {
  const files = [...new Set(tried.map(({ mutant }) => mutant.file))];
  return [
    '| file | mutants | answer | memory | accesses | endless | survived | killed |',
    '|---|---:|---:|---:|---:|---:|---:|---:|',
    ...files.map((file) =>
      row(
        file.replace('engine/', ''),
        tried.filter(({ mutant }) => mutant.file === file),
      ),
    ),
    row('**all**', tried),
  ].join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}

function survivorList(findings: Findings, judgements: Judgements): string {
  const reasons = reasonsOf(judgements);
  const lived = survivors(findings);
  const whyOf = ({ mutant }: Tried) => reasons.get(keyOf(mutant));
  return [...new Set(lived.map(whyOf))]
    .map((why) => ({ why, group: lived.filter((tried) => whyOf(tried) === why) }))
    .map(({ why, group }) => {
      const lines = group.map(({ mutant, isReached }) => {
        const [where = '', change = ''] = keyOf(mutant).split(/: (.*)/);
        const [original = '', mutated = ''] = change.split(' -> ');
        const unreached = isReached ? '' : ' (never reached)';
        return `- ${where}: ${code(original)} to ${code(mutated)}${unreached}`;
      });
      return `### ${why ?? '**Not explained**'}\n\n${lines.join('\n')}`;
    })
    .join('\n\n');
}

function oneWayList({ oneWay }: Findings): string {
  return oneWay
    .map(({ branch: { file, within, text }, missing }) => {
      const where = `${file.replace('engine/', '')} ${within}`;
      return text === `${within}()`
        ? `- ${where} is never called`
        : `- ${where}: ${code(text)} is never ${missing}`;
    })
    .join('\n');
}

/** docs/mutants.md. */
export function page(findings: Findings, judgements: Judgements): string {
  const { tried, scenes, calls, oneWay } = findings;
  const killed = tried.length - survivors(findings).length;
  return `# Mutants of the engine

<!-- Written by \`npm run mutants\`. -->

Each mutant is one small change to the sources in \`src/kernel/engine\`. ${killed} of ${tried.length} are killed: ${percent(killed, tried.length)}.

\`npm run mutants\` builds all of them into one copy of the engine and selects them by number. It then replays ${scenes} recorded scenes, ${calls} calls in all, on each mutant and on the unchanged engine side by side. Three threads take part in a scene. One of them often makes a whole call, or dies, between two memory accesses of another. The first difference kills a mutant:

- **answer**: a call returned another result, or trapped.
- **memory**: the shared memory differs after a call.
- **accesses**: a call made more or fewer accesses to memory.
- **endless**: a loop did not end.

The comparison shows that the scenes notice a change. That the engine is right is checked by [the references and the explorer](proof.md). Initial values of module variables, and additions of a constant that is 0, are not mutated.

${scoreTable(findings)}

## Survivors

${survivorList(findings, judgements)}

## Branches

The scenes left ${oneWay.length} branches untaken: a condition had only one value, or a function was never called.

${oneWayList(findings)}
`;
}
