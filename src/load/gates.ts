import type { RequestCounts, Tally } from './tally.ts';

/** A percentile of the latency is at most this long. */
export interface LatencyGate {
  /** The kind of gate. */
  readonly kind: 'latency';
  /** Above 0 and at most 100. */
  readonly percentile: number;
  /** The longest latency allowed, in milliseconds. */
  readonly maxMs: number;
}

/** At most this share of what came due fails. */
export interface ErrorGate {
  /** The kind of gate. */
  readonly kind: 'errors';
  /** From 0 to 1. */
  readonly maxShare: number;
}

/** At least this share of the schedule is sent. */
export interface RateGate {
  /** The kind of gate. */
  readonly kind: 'rate';
  /** From 0 to 1. */
  readonly minShare: number;
}

/** A bound on the result of a run, for continuous integration. */
export type Gate = LatencyGate | ErrorGate | RateGate;

/** How a run did at one gate. */
export interface GateVerdict {
  readonly gate: Gate;
  readonly passed: boolean;
  /** The value compared: milliseconds of a latency, otherwise a share. Undefined without a request. */
  readonly actual: number | undefined;
}

/** The parts of a result that gates look at. */
export interface Gated {
  readonly tally: {
    readonly counters: RequestCounts;
    readonly histograms: Pick<Tally['histograms'], 'latency'>;
  };
  /** Units of the histogram in a millisecond: microseconds, unless it says otherwise. */
  readonly perMs?: number;
  readonly sent: number;
  readonly elapsedMs: number;
  readonly wantedRate: number;
}

/** In force where no gate of the kind is given: a run that mostly failed is no success. */
export const DEFAULT_MAX_ERRORS = 0.5;
export const DEFAULT_MIN_RATE = 0.5;
/** 0.29 x 100 is a little less than 29 requests. */
const ROUNDING = 1e-6;

/**
 * Adds the gates that hold by default.
 *
 * @param isShared whether other processes send a part of the rate, which then has no lower bound
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
  // No latency at all is no low latency.
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
  // A part of a slot is no request.
  return {
    gate,
    passed: sent >= Math.floor(gate.minShare * slots + ROUNDING),
    actual: sent / slots,
  };
}
