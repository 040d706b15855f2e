import { parseTerms, type TermForm } from '../../src/simulate/terms.ts';
import { type Choice, type Field, LIMITERS, TRAFFIC, textOf } from './kinds.ts';

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

function choiceOf(kinds: Kinds, text: string): Choice {
  const [{ kind, numbers }] = parseTerms(text, formsOf(kinds));
  for (const field of kinds[kind]?.fields ?? []) {
    const problem = problemOf(field, numbers[field.name] ?? Number.NaN);
    if (problem !== undefined) throw new RangeError(problem);
  }
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

function wholeOf(name: string, text: string | null, otherwise: number, most: number): number {
  if (text === null) return otherwise;
  const value = Number(text);
  if (text !== '' && Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new RangeError(`${name} must be a whole number from 0 to ${most}, got ${text}`);
}

/**
 * The setup of a link, with the defaults of {@link FIRST}.
 *
 * @throws RangeError with the reason if the link is invalid
 */
export function setupOf(hash: string): Setup {
  const parts = new URLSearchParams(hash.replace(/^#/, ''));
  const limiters = parts.getAll('limiter').map((text) => choiceOf(LIMITERS, text));
  if (limiters.length > MOST_LIMITERS) {
    throw new RangeError(`at most ${MOST_LIMITERS} limiters, got ${limiters.length}`);
  }
  const traffic = parts.get('traffic');
  return {
    limiters: limiters.length === 0 ? FIRST.limiters : limiters,
    traffic: traffic === null ? FIRST.traffic : choiceOf(TRAFFIC, traffic),
    workers: Math.max(1, wholeOf('workers', parts.get('workers'), FIRST.workers, MOST_WORKERS)),
    waitMs: wholeOf('waitMs', parts.get('waitMs'), FIRST.waitMs, MOST_WAIT_MS),
  };
}
