import type { ErrorKind } from './error-kind.ts';

/** How often an error occurred, and its first message. */
export interface ErrorCount {
  readonly kind: ErrorKind;
  count: number;
  readonly example: string;
}

/** A task may invent error kinds. Kinds beyond this number are counted as one. */
const MOST_KINDS = 100;
const OTHER_KINDS = 'other errors';

/** The kind to count an error as, given the kinds counted so far. */
export function kindAmong(known: ReadonlyMap<string, unknown>, kind: ErrorKind): ErrorKind {
  return known.has(kind) || known.size < MOST_KINDS ? kind : OTHER_KINDS;
}

/** Adds to the errors of a kind. */
export function addErrors(
  errors: Map<ErrorKind, ErrorCount>,
  { kind, count, example }: ErrorCount,
): void {
  const name = kindAmong(errors, kind);
  const known = errors.get(name);
  if (known === undefined) errors.set(name, { kind: name, count, example });
  else known.count += count;
}
