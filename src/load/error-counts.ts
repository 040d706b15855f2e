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

/** The kind under which to count, beside those that are known. */
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
