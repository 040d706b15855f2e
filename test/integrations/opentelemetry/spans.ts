import {
  createTraceState,
  ROOT_CONTEXT,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  SpanKind,
  type TraceState,
  trace,
} from '@opentelemetry/api';
import { ManualClock } from '../../../src/index.ts';
import { ConsistentRateLimitingSampler } from '../../../src/integrations/opentelemetry.ts';
import { Random } from '../../support/random.ts';

/** A trace id whose randomness is 0: kept only where all are. */
export const LOWEST = `${'0'.repeat(17)}1${'0'.repeat(14)}`;

/** A trace id whose randomness reaches every threshold. */
export const HIGHEST = `${'0'.repeat(18)}${'f'.repeat(14)}`;

/** The number of spans that one with this tracestate stands for; undefined if it does not say. */
export function adjustedCount(traceState: TraceState | undefined): number | undefined {
  const [, th] = /\bth:([0-9a-f]+)/.exec(traceState?.get('ot') ?? '') ?? [];
  return th === undefined ? undefined : 1 / (1 - Number.parseInt(th, 16) / 16 ** th.length);
}

/** 14 random hexadecimal digits, as a trace id ends with. */
export function randomDigits(random: Random): string {
  const half = () => (0x10000000 + (random.bits() >>> 4)).toString(16).slice(1);
  return half() + half();
}

export function randomTraceId(random: Random): string {
  return `0af7651916cd43dd84${randomDigits(random)}`;
}

/** A parent of a span to be. */
export interface Parent {
  readonly isSampled?: boolean;
  /** Its tracestate as text. */
  readonly state?: string;
}

/** The context of a root span, or of the child of a parent. */
export function contextOf(traceId: string, parent?: Parent) {
  if (parent === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId: 'b7ad6b7169203331',
    traceFlags: parent.isSampled === false ? 0 : 1,
    ...(parent.state === undefined ? {} : { traceState: createTraceState(parent.state) }),
  });
}

/** Asks a sampler for a root span, or for the child of a parent. */
export function decide(
  sampler: Sampler,
  traceId: string,
  parent?: Parent,
  name = 'span',
): SamplingResult {
  const context = contextOf(traceId, parent);
  return sampler.shouldSample(context, traceId, name, SpanKind.SERVER, {}, []);
}

export function isKept({ decision }: SamplingResult): boolean {
  return decision === SamplingDecision.RECORD_AND_SAMPLED;
}

/** A sampler on a manual clock, and what draws its trace ids. */
export function scene(options: Parameters<typeof ConsistentRateLimitingSampler.create>[0]) {
  const clock = ManualClock.create();
  const sampler = ConsistentRateLimitingSampler.create({ ...options, clock });
  return { clock, sampler, random: new Random(1) };
}

interface Scene {
  readonly clock: ManualClock;
  readonly sampler: Sampler;
  readonly random: Random;
}

/** What became of the spans of an operation. */
export interface Tally {
  arrived: number;
  kept: number;
  counted: number;
  uncounted: number;
  /** How many spans the last one stands for that says so. */
  last: number;
}

/** Lets operations arrive, each with its steps of 1 ms from one span to the next. */
export function arrive(
  { clock, sampler, random }: Scene,
  everyMs: Readonly<Record<string, number>>,
  seconds: number,
): Record<string, Tally> {
  const names = Object.keys(everyMs);
  const tallies = Object.fromEntries(
    names.map((name) => [name, { arrived: 0, kept: 0, counted: 0, uncounted: 0, last: 0 }]),
  );
  for (let ms = 1; ms <= seconds * 1000; ms++) {
    clock.advance(1);
    for (const name of names) {
      const every = everyMs[name] ?? 0;
      const tally = tallies[name] as Tally;
      for (; tally.arrived < ms / every; tally.arrived++) {
        const result = decide(sampler, randomTraceId(random), undefined, name);
        if (!isKept(result)) continue;
        tally.kept++;
        const count = adjustedCount(result.traceState);
        if (count === undefined) tally.uncounted++;
        tally.counted += count ?? 0;
        tally.last = count ?? tally.last;
      }
    }
  }
  return tallies;
}

/** Lets spans of one operation arrive. */
export function arriveAt(scene: Scene, perSecond: number, seconds: number, name = 'span'): Tally {
  return arrive(scene, { [name]: 1000 / perSecond }, seconds)[name] as Tally;
}
