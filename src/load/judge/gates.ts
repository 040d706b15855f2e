import type { Histogram } from 'hdr-histogram-js';
import type { CallCounts } from '../measure/tally.ts';

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
export interface GateResult {
  /** The gate. */
  readonly gate: Gate;
  /** Whether the result meets the gate. */
  readonly passed: boolean;
  /**
   * The measured value: a latency in milliseconds, or a share from 0 to 1. Null if there is none:
   * for a latency if no call succeeded, which fails the gate; for errors without a call, and for
   * the rate if less than one call was to come due, which both pass.
   */
  readonly actual: number | null;
}

/** The parts of a result that gates check. */
export interface Gated {
  readonly calls: CallCounts;
  readonly latency: Histogram;
  /** The histogram's units per millisecond. */
  readonly perMs: number;
  readonly elapsedMs: number;
  /** Null as fast as possible. */
  readonly wantedRatePerSecond: number | null;
}

/** Applies if no error gate is given: a run that mostly failed must not pass. */
export const DEFAULT_MAX_ERRORS = 0.5;
/** Likewise for the rate: one that is met to a thousandth, or to one request, is not missed. */
export const DEFAULT_MIN_RATE = 0.999;
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
export function checkGates(result: Gated, gates: readonly Gate[]): GateResult[] {
  return gates.map((gate) => {
    if (gate.kind === 'latency') return latencyVerdict(result, gate);
    return gate.kind === 'errors' ? errorVerdict(result, gate) : rateVerdict(result, gate);
  });
}

function latencyVerdict({ calls, latency, perMs }: Gated, gate: LatencyGate): GateResult {
  // Failures may be fast: without a success the gate fails.
  if (latency.totalCount === 0 || calls.succeeded === 0)
    return { gate, passed: false, actual: null };
  const actual = latency.getValueAtPercentile(gate.percentile) / perMs;
  return { gate, passed: actual <= gate.maxMs, actual };
}

function errorVerdict({ calls: { succeeded, failed } }: Gated, gate: ErrorGate): GateResult {
  const all = succeeded + failed;
  if (all === 0) return { gate, passed: true, actual: null };
  return { gate, passed: failed <= gate.maxShare * all + ROUNDING, actual: failed / all };
}

/** Compares what was sent with a gate of the rate. */
export function rateVerdict(
  { calls, elapsedMs, wantedRatePerSecond }: Omit<Gated, 'latency' | 'perMs'>,
  gate: RateGate,
): GateResult {
  const slots = ((wantedRatePerSecond ?? 0) * elapsedMs) / 1_000;
  if (slots < 1) return { gate, passed: true, actual: null };
  // Round down: part of a slot is not a request.
  const passed = calls.sent >= Math.floor(gate.minShare * slots + ROUNDING);
  return { gate, passed, actual: calls.sent / slots };
}

/** One line with the wanted and the measured value of a gate. */
export function gateText({ gate, actual }: GateResult, noun: 'calls' | 'requests' = 'calls') {
  switch (gate.kind) {
    case 'latency': {
      const none = `unknown: no ${noun === 'calls' ? 'call ended' : 'response'}`;
      const was = actual === null ? none : `${rounded(actual)} ms`;
      return `p${gate.percentile} was ${was}, wanted at most ${rounded(gate.maxMs)} ms`;
    }
    case 'errors':
      return `${percent(actual)} of the ${noun} failed, wanted at most ${percent(gate.maxShare)}`;
    case 'rate':
      return `${percent(actual)} of the rate was sent, wanted at least ${percent(gate.minShare)}`;
  }
}

function percent(share: number | null): string {
  return `${rounded(100 * (share ?? 0))} %`;
}

function rounded(n: number): number {
  return Number(n.toFixed(3));
}
