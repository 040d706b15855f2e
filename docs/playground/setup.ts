import { parseTerms, type TermForm } from '../../src/simulate/terms.ts';
import {
  type Choice,
  checkTraffic,
  created,
  type Field,
  LIMITERS,
  TRAFFIC,
  textOf,
} from './kinds.ts';

/** The contents of a link. */
export interface Setup {
  readonly limiters: readonly Choice[];
  readonly traffic: Choice;
  readonly workers: number;
  /** How long a request waits for a bucket's token; 0: it does not wait. */
  readonly waitMs: number;
}

export const MOST_LIMITERS = 4;
export const MOST_WORKERS = 8;
export const MOST_WAIT_MS = 10_000;

type Kinds = Readonly<Record<string, { readonly fields: readonly Field[] }>>;

/** A kind with its initial numbers. */
export function initial(kinds: Kinds, kind: string): Choice {
  const fields = kinds[kind]?.fields ?? [];
  return { kind, numbers: Object.fromEntries(fields.map((field) => [field.name, field.initial])) };
}

export const FIRST: Setup = {
  limiters: [initial(LIMITERS, 'token-bucket'), initial(LIMITERS, 'fixed-window')],
  traffic: initial(TRAFFIC, 'bursts'),
  workers: 4,
  waitMs: 0,
};

function formsOf(kinds: Kinds): Record<string, TermForm[]> {
  const entries = Object.entries(kinds).map(([kind, { fields }]): [string, TermForm[]] => [
    kind,
    [{ needs: fields.map(({ name }) => name) }],
  ]);
  return Object.fromEntries(entries);
}

/** Why a number is invalid for its field; undefined if it is valid. */
export function problemOf({ label, min, max }: Field, value: number): string | undefined {
  if (value >= min && value <= max) return undefined;
  return `${label} must be a number from ${min} to ${max}, got ${value}`;
}

function choiceOf(kinds: Kinds, text: string, check: (choice: Choice) => unknown): Choice {
  const [{ kind, numbers }] = parseTerms(text, formsOf(kinds));
  for (const field of kinds[kind]?.fields ?? []) {
    const problem = problemOf(field, numbers[field.name] ?? Number.NaN);
    if (problem !== undefined) throw new RangeError(problem);
  }
  check({ kind, numbers });
  return { kind, numbers };
}

/** The part of a link after `#`. */
export function hashOf({ limiters, traffic, workers, waitMs }: Setup): string {
  const parts = new URLSearchParams();
  for (const limiter of limiters) parts.append('limiter', textOf(limiter));
  parts.set('traffic', textOf(traffic));
  parts.set('workers', `${workers}`);
  parts.set('waitMs', `${waitMs}`);
  return `${parts}`;
}

function wholeOf(text: string, least: number, most: number): number {
  const value = Number(text);
  if (text !== '' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`It must be a whole number from ${least} to ${most}`);
}

/**
 * The setup of a link, with the defaults of {@link FIRST}, and what is wrong with the link: each
 * problem names the parameter and says what is used instead.
 */
export function setupOf(hash: string): { readonly setup: Setup; readonly problems: string[] } {
  const parts = new URLSearchParams(hash.replace(/^#/, ''));
  const problems = [...new Set(parts.keys())]
    .filter((name) => !Object.hasOwn(FIRST, name === 'limiter' ? 'limiters' : name))
    .map((name) => `${name} is not a parameter of a link, so it is ignored.`);
  function read<Value>(
    name: string,
    text: string,
    otherwise: Value,
    parse: (text: string) => Value,
    shown: (value: Value) => string,
  ): Value {
    try {
      return parse(text);
    } catch (error) {
      const reason = (error as Error).message.replace(/\.$/, '');
      problems.push(`${name}=${text} is invalid. ${reason}. Used instead: ${shown(otherwise)}.`);
      return otherwise;
    }
  }
  const wholes = (name: 'workers' | 'waitMs', least: number, most: number) =>
    read(
      name,
      parts.get(name) ?? `${FIRST[name]}`,
      FIRST[name],
      (text) => wholeOf(text, least, most),
      String,
    );

  const texts = parts.getAll('limiter');
  if (texts.length > MOST_LIMITERS) {
    problems.push(
      `The link has ${texts.length} limiters. Only the first ${MOST_LIMITERS} are used.`,
    );
  }
  const other = initial(LIMITERS, 'token-bucket');
  const limiters = texts
    .slice(0, MOST_LIMITERS)
    .map((text) => read('limiter', text, other, (one) => choiceOf(LIMITERS, one, created), textOf));
  return {
    setup: {
      limiters: limiters.length === 0 ? FIRST.limiters : limiters,
      traffic: read(
        'traffic',
        parts.get('traffic') ?? textOf(FIRST.traffic),
        FIRST.traffic,
        (text) => choiceOf(TRAFFIC, text, checkTraffic),
        textOf,
      ),
      workers: wholes('workers', 1, MOST_WORKERS),
      waitMs: wholes('waitMs', 0, MOST_WAIT_MS),
    },
    problems,
  };
}
