import { readFileSync } from 'node:fs';

interface Times {
  readonly count: number;
  readonly ms: Readonly<Record<string, number>> | null;
  readonly hdrHistogram: string;
}

/** The fields of the `--json` file that the tests read. */
export interface JsonResult {
  readonly exitCode: number;
  readonly interrupted: boolean;
  readonly url: string;
  readonly embeddedServer: boolean;
  readonly elapsedMs: number;
  readonly admitted: number;
  readonly achievedRatePerSecond: number;
  readonly guarantee: { readonly held: boolean };
  readonly calls: { sent: number; succeeded: number; failed: number };
  readonly statusCodes: Readonly<Record<string, number>>;
  readonly errors: readonly { kind: string; count: number; example: string }[];
  readonly times: Readonly<Record<'latency' | 'clientLag' | 'queued' | 'response', Times>>;
  readonly threads: readonly { admitted: number; share: number }[];
  readonly admittedPer100Ms: readonly number[];
}

export function readJsonResult(path: string): JsonResult {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** The number of errors of this kind. */
export function errorCount({ errors }: JsonResult, kind: string): number {
  return errors.find((error) => error.kind === kind)?.count ?? 0;
}
