import type { ErrorKind } from './error-kind.ts';

/** The number of times an error occurred, and the first message. */
export interface ErrorCount {
  readonly kind: ErrorKind;
  count: number;
  readonly example: string;
}

/** More kinds of errors than this are counted as one: a task may make them up. */
const MOST_KINDS = 100;
const OTHER_KINDS = 'other errors';

/** Adds to the errors of a kind. */
export function addErrors(
  errors: Map<ErrorKind, ErrorCount>,
  { kind, count, example }: ErrorCount,
): void {
  const isTooMany = !errors.has(kind) && errors.size >= MOST_KINDS;
  const name = isTooMany ? OTHER_KINDS : kind;
  const known = errors.get(name);
  if (known === undefined) errors.set(name, { kind: name, count, example });
  else known.count += count;
}
