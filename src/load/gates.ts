import type { RequestCounts, Tally } from './tally.ts';

/** An upper bound on a latency percentile. */
export interface LatencyGate {
  /** The kind of gate. */
  readonly kind: 'latency';
  /** Above 0 and at most 100. */
  readonly percentile: number;
  /** The longest latency that passes, in milliseconds. */
  readonly maxMs: number;
}

/** An upper bound on the share of failed requests or calls. */
export interface ErrorGate {
  /** The kind of gate. */
  readonly kind: 'errors';
  /** From 0 to 1. */
  readonly maxShare: number;
}

/** A lower bound on the share of the schedule that is sent. */
export interface RateGate {
  /** The kind of gate. */
  readonly kind: 'rate';
  /** From 0 to 1. */
  readonly minShare: number;
}

/** A bound on the result of a run, for continuous integration. */
export type Gate = LatencyGate | ErrorGate | RateGate;

/** The verdict of one gate. */
export interface GateVerdict {
  readonly gate: Gate;
  readonly passed: boolean;
  /** The measured value: a latency in milliseconds, or a share. Undefined without a request. */
  readonly actual: number | undefined;
}

/** The parts of a result that gates check. */
export interface Gated {
  readonly tally: {
    readonly counters: RequestCounts;
    readonly histograms: Pick<Tally['histograms'], 'latency'>;
  };
  /** The histogram's units per millisecond. Default: 1,000, for microseconds. */
  readonly perMs?: number;
  readonly sent: number;
  readonly elapsedMs: number;
  readonly wantedRate: number;
}

/** Applies if no error gate is given: a run that mostly failed must not pass. */
export const DEFAULT_MAX_ERRORS = 0.5;
export const DEFAULT_MIN_RATE = 0.5;
/** Allows for rounding: 0.29 x 100 is slightly less than 29. */
const ROUNDING = 1e-6;

/**
 * Adds the default gates for kinds that are not given.
 *
 * @param isShared whether other processes send part of the rate; its lower bound then does not
 *   apply
 */
export function gatesInForce(given: readonly Gate[], isShared: boolean): Gate[] {
  const has = (kind: Gate['kind']) => given.some((gate) => gate.kind === kind);
  return [
    ...given,
    ...(has('errors') ? [] : [{ kind: 'errors', maxShare: DEFAULT_MAX_ERRORS } as const]),
    ...(has('rate') || isShared ? [] : [{ kind: 'rate', minShare: DEFAULT_MIN_RATE } as const]),
  ];
}

/** Compares a result with each gate. */
export function checkGates(result: Gated, gates: readonly Gate[]): GateVerdict[] {
  return gates.map((gate) => {
    if (gate.kind === 'latency') return latencyVerdict(result, gate);
    return gate.kind === 'errors' ? errorVerdict(result, gate) : rateVerdict(result, gate);
  });
}

function latencyVerdict({ tally, perMs = 1_000 }: Gated, gate: LatencyGate): GateVerdict {
  const { latency } = tally.histograms;
  // Without any latency the gate fails.
  if (latency.totalCount === 0) return { gate, passed: false, actual: undefined };
  const actual = latency.getValueAtPercentile(gate.percentile) / perMs;
  return { gate, passed: actual <= gate.maxMs, actual };
}

function errorVerdict({ tally }: Gated, gate: ErrorGate): GateVerdict {
  const { succeeded, failed } = tally.counters;
  const all = succeeded + failed;
  if (all === 0) return { gate, passed: true, actual: undefined };
  return { gate, passed: failed <= gate.maxShare * all + ROUNDING, actual: failed / all };
}

function rateVerdict(result: Gated, gate: RateGate): GateVerdict {
  const { sent, elapsedMs, wantedRate } = result;
  const slots = (wantedRate * elapsedMs) / 1_000;
  if (slots < 1) return { gate, passed: true, actual: undefined };
  // Round down: part of a slot is not a request.
  return {
    gate,
    passed: sent >= Math.floor(gate.minShare * slots + ROUNDING),
    actual: sent / slots,
  };
}
