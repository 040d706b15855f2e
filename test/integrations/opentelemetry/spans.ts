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
import type { Random } from '../../support/random.ts';

/** A trace id whose randomness is 0: kept only where all are. */
export const LOWEST = `${'0'.repeat(17)}1${'0'.repeat(14)}`;

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

/** Asks a sampler for a root span, or for the child of a parent. */
export function decide(
  sampler: Sampler,
  traceId: string,
  parent?: Parent,
  name = 'span',
): SamplingResult {
  const context =
    parent === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, {
          traceId,
          spanId: 'b7ad6b7169203331',
          traceFlags: parent.isSampled === false ? 0 : 1,
          ...(parent.state === undefined ? {} : { traceState: createTraceState(parent.state) }),
        });
  return sampler.shouldSample(context, traceId, name, SpanKind.SERVER, {}, []);
}

export function isKept({ decision }: SamplingResult): boolean {
  return decision === SamplingDecision.RECORD_AND_SAMPLED;
}
