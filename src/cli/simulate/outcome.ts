import { LEAST_FOR } from '../../load/measure/latency-timeline.ts';
import { thisVersion } from '../../load/measure/machine.ts';
import { sumsOf } from '../../load/measure/timeline.ts';
import { PER_MS, summaryOf } from '../../load/measure/times.ts';
import type { LimiterResult, SimulateResult } from '../../simulate/run.ts';
import { EXIT } from '../output.ts';
import { middleOf } from '../report/distributions.ts';

/** The exit code for a result. */
export function exitCode({ limiters }: SimulateResult): number {
  const held = limiters.every(({ outcomes }) => outcomes.bounds.every((bound) => bound.held));
  return held ? EXIT.ok : EXIT.guaranteeBroken;
}

/** The file of `--json`, which is identical for the same arguments. */
export function jsonOf(result: SimulateResult): object {
  const { source, arrivals, limiters, count, durationMs, waitMs, server } = result;
  const { file } = source;
  return {
    zerotime: thisVersion(),
    exitCode: exitCode(result),
    arrivals: {
      source: source.text,
      seed: source.seed ?? null,
      count,
      durationMs,
      file: file && {
        format: file.format,
        startedEpochMs: file.startedUs === undefined ? null : file.startedUs / 1_000,
        linesWithoutTimestamp: file.unreadable,
        linesOutOfOrder: file.late,
      },
    },
    server: server ?? null,
    waitAtMostMs: waitMs,
    slotMs: arrivals.slotUs / 1_000,
    arrivalsPerSlot: arrivals.counts,
    limiters: limiters.map(({ text, outcomes }) => ({
      limiter: text,
      admittedAtOnce: outcomes.admittedAtOnce,
      admittedLater: outcomes.admittedLater,
      refusedAtOnce: outcomes.refusedAtOnce,
      gaveUp: outcomes.gaveUp,
      waitMs: summaryOf(outcomes.waits, PER_MS.us),
      ...(server === undefined
        ? {}
        : {
            mostInFlight: outcomes.mostInFlight,
            responseMs: summaryOf(outcomes.responses, PER_MS.us),
            responsesPerSlot: outcomes.goodput.counts,
          }),
      ...(outcomes.permits === undefined
        ? {}
        : {
            permits: outcomes.permits
              .points()
              .map(([atSeconds, permits]) => ({ atSeconds, permits })),
          }),
      bounds: outcomes.bounds.map((bound) => ({
        promise: bound.promise,
        held: bound.held,
        peak: bound.peak,
        allowed: bound.allowed,
        mostPerSlot: bound.most(arrivals.slotUs),
      })),
      admittedPerSlot: outcomes.admissions.counts,
    })),
  };
}

const MOST_ABOVE = 2;

/** The rates of one limiter over time. */
export interface RatesByTime {
  readonly limiter: LimiterResult;
  readonly slotSeconds: number;
  /** Per second, one value per slot of equal length. */
  readonly arrivals: readonly number[];
  readonly admitted: readonly number[];
  /** The guaranteed maximum rate of admissions in a slot, per second. */
  readonly bound: number;
  /** False if the bound is so far above the rates that it would flatten the chart. */
  readonly isBoundNear: boolean;
}

/** The rates of all limiters, and the scales that their charts share. */
export function ratesByTime({ arrivals: { slotUs, counts: came }, limiters }: SimulateResult) {
  const slotSeconds = slotUs / 1e6;
  const tops: number[] = [];
  const rates = limiters.map((limiter): RatesByTime => {
    const { admissions, bounds } = limiter.outcomes;
    const slots = Math.max(came.length, admissions.counts.length);
    const perSecond = (counts: readonly number[]) =>
      Array.from({ length: slots }, (_, slot) => (counts[slot] ?? 0) / slotSeconds);
    const [arrivals, admitted] = [perSecond(came), perSecond(admissions.counts)];
    const bound = Math.min(...bounds.map((one) => one.most(slotUs))) / slotSeconds;
    const highest = arrivals.concat(admitted).reduce((a, b) => Math.max(a, b), 0);
    const isBoundNear = bound <= MOST_ABOVE * highest;
    tops.push(isBoundNear ? Math.max(highest, bound) : highest);
    return { limiter, slotSeconds, arrivals, admitted, bound, isBoundNear };
  });
  return {
    rates,
    /** The highest rate of all. */
    top: Math.max(...tops),
    /** The end of the last slot in seconds: callers that wait are admitted after the last arrival. */
    endSeconds: Math.max(...rates.map(({ arrivals }) => arrivals.length * slotSeconds)),
  };
}

type Points = readonly (readonly [seconds: number, value: number])[];

/** A value over time, with a line for each limiter in their order. */
export interface Course {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Points[];
  /** Above the highest value of a limiter that adapts. Lines beyond it continue there. */
  readonly top: number;
}

/** Shorter spans show more of chance than of the server. */
const LEAST_SPAN_US = 1e6;

/** The room above the limiters that adapt: without any limit, values may be 100 times theirs. */
const ABOVE = 1.5;

/** Responses per second. */
function goodputOf({ outcomes: { goodput } }: LimiterResult, endS: number): Points {
  const { counts, slotUs } = goodput;
  const joined = Math.max(1, Math.ceil(LEAST_SPAN_US / slotUs));
  const seconds = (joined * slotUs) / 1e6;
  const all = sumsOf(counts, joined).slice(0, Math.floor(endS / seconds));
  return all.map((sum, at) => [(at + 0.5) * seconds, sum / seconds] as const);
}

/** p99 of the responses that arrive by the end. */
function latencyOf({ outcomes }: LimiterResult, endS: number): Points {
  const slots = outcomes.responsesByTime.slotsOf(LEAST_FOR.p99);
  return slots
    .map((slot) => [middleOf(slot), slot.p99Ms ?? slot.maxMs] as const)
    .filter(([seconds]) => seconds <= endS);
}

function permitsOf({ outcomes }: LimiterResult, endS: number): Points {
  return (outcomes.permits?.points() ?? []).filter(([seconds]) => seconds <= endS);
}

/** What a limiter that adapts does over time, beside the others; empty if none adapts. */
export function coursesOf({ limiters, durationMs }: SimulateResult): readonly Course[] {
  if (!limiters.some(({ adapts }) => adapts)) return [];
  const course = (title: string, unit: string, of: typeof goodputOf): Course => {
    const lines = limiters.map((one) => of(one, durationMs / 1_000));
    const adapting = lines.filter((_, at) => limiters[at]?.adapts).flat();
    return { title, unit, lines, top: ABOVE * Math.max(0, ...adapting.map(([, value]) => value)) };
  };
  return [
    course('Permits', '', permitsOf),
    course('p99 of the response times', ' ms', latencyOf),
    course('Responses', '/s', goodputOf),
  ];
}
