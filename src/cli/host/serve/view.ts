// What the server tells the page: plain data, read on both sides.

import type { ChangeAction } from '../../../host/change-log.ts';
import type { HostProcess } from '../../../host/membership.ts';

/** The counts and state of a limiter at an instant; null if it has none. */
export type Point = readonly [
  /** Tokens, permits in use, or keys in a table. Negative in debt. */
  level: number | null,
  /** The burst, limit or permits. */
  most: number | null,
  admitted: number | null,
  refused: number | null,
  /** Callers that wait for permits. */
  waiting: number | null,
];

/** A limiter as the page shows it. */
export interface LimiterView {
  readonly name: string;
  /** The name without control characters. */
  readonly label: string;
  readonly kind: string;
  /** Its options: `rate 10, burst 100`. */
  readonly limit: string;
  /** What its level counts. */
  readonly unit: 'tokens' | 'permits' | 'keys' | '';
  readonly isDamaged: boolean;
  /** What an operator can do to it. */
  readonly actions: readonly ChangeAction[];
}

/** A change on record. */
export interface ChangeView {
  readonly number: number;
  readonly atMs: number;
  readonly user: string;
  readonly pid: number;
  readonly limiter: string;
  readonly what: string;
  readonly values: string;
  readonly stage: string;
}

/** A region as the page shows it. */
export interface RegionView {
  readonly path: string;
  /** Why it is not open; the rest is empty then. */
  readonly error?: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly limiters: readonly LimiterView[];
  readonly processes: readonly HostProcess[];
  /** The newest first. */
  readonly changes: readonly ChangeView[];
}

/** The limiters of all regions at an instant, by region and then by name. */
export interface Sample {
  readonly atMs: number;
  readonly points: Readonly<Record<string, Readonly<Record<string, Point>>>>;
}

/** The answer to a poll. */
export interface State {
  readonly nowMs: number;
  readonly allowsChanges: boolean;
  readonly regions: readonly RegionView[];
  /** Those after the instant asked for. */
  readonly samples: readonly Sample[];
}

/** A change that the page asks for. */
export interface ChangeRequest {
  readonly path: string;
  readonly name: string;
  readonly action: ChangeAction;
  /** Such as `rate=50 burst=10`. */
  readonly changes?: string;
  readonly key?: string;
  readonly keyType?: string;
  /** Such as `10m`. */
  readonly time?: string;
  /** Whether to say what would change only. */
  readonly isDry: boolean;
}

/** What a change has done or, in a dry run, would do. */
export type ChangeAnswer =
  | { readonly differences: readonly (readonly [field: string, values: string])[] }
  | { readonly error: string };
