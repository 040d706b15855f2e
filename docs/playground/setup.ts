import { parseTerms, type TermForm } from '../../src/simulate/terms.ts';
import { type Choice, type Field, LIMITERS, TRAFFIC, textOf } from './kinds.ts';

/** All that a link carries. */
export interface Setup {
  readonly limiters: readonly Choice[];
  readonly traffic: Choice;
  readonly workers: number;
  /** How long a request waits for a bucket's token; 0 for not at all. */
  readonly waitMs: number;
}

export const MOST_LIMITERS = 4;
export const MOST_WORKERS = 8;
export const MOST_WAIT_MS = 10_000;

type Kinds = Readonly<Record<string, { readonly fields: readonly Field[] }>>;

/** A kind with the numbers that a new one begins with. */
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

/** Why a number does not fit its field; undefined if it does. */
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
 * The set-up of a link; what the link does not name is as in {@link FIRST}.
 *
 * @throws RangeError with the reason if the link names what does not exist
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
