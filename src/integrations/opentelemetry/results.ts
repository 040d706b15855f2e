import {
  type Attributes,
  createTraceState,
  SamplingDecision,
  type SamplingResult,
  type TraceState,
} from '@opentelemetry/api';

// Results of samplers, as OpenTelemetry's probability sampling defines them.

/** Hexadecimal digits of a threshold: 56 bits. */
export const DIGITS = 14;
/** Digits after the leading `f`s, as recommended by the specification. */
const PRECISION = 4;
const STEPS = 16 ** PRECISION;
const LEAST = 2 ** -56;
/** OR with this makes a letter lower-case and leaves a digit unchanged. */
const SMALL = 0x20;

/**
 * A rejection threshold: spans whose 56-bit randomness is below it are dropped.
 *
 * https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
 */
export class Threshold {
  #probability = 1;
  #text = '0';

  /** Rounds a probability to four digits after the leading `f`s; the least is 2^-56. */
  set(probability: number): void {
    const wanted = probability > LEAST ? Math.min(probability, 1) : LEAST;
    // The number of leading `f`s: 16^-(fs + 1) <= wanted < 16^-fs.
    let fs = 0;
    let scaled = wanted * 16;
    while (scaled < 1) {
      scaled *= 16;
      fs++;
    }
    const digits = Math.min(DIGITS, fs + PRECISION);
    const kept = Math.round(wanted * 16 ** digits);
    const probable = kept / 16 ** digits;
    if (probable === this.#probability) return;
    this.#probability = probable;
    const last = (STEPS - kept).toString(16).padStart(PRECISION, '0');
    this.#text = shortened('f'.repeat(digits - PRECISION) + last);
  }

  /** Whether the randomness, the last 14 digits of `text`, reaches the threshold. */
  isMet(text: string): boolean {
    return this.#probability === 1 || reaches(text, this.#text);
  }

  /** The probability of keeping a span. Its inverse is the adjusted count. */
  get probability(): number {
    return this.#probability;
  }

  /** The value of `th`, without trailing zeros; `0` if all spans are kept. */
  get text(): string {
    return this.#text;
  }
}

/** Removes trailing zeros from a `th`, but not its first digit. */
function shortened(th: string): string {
  return th.replace(/(?!^)0+$/, '');
}

/** Converts a `th` to a 56-bit integer. */
export function integerOf(th: string): bigint {
  return BigInt(`0x${th.padEnd(DIGITS, '0')}`);
}

/**
 * Whether randomness, the last 14 digits of `text`, reaches a `th`. Both are hexadecimal, and
 * compared digit by digit, without parsing or allocation.
 */
export function reaches(text: string, th: string): boolean {
  const from = text.length - DIGITS;
  for (let at = 0; at < th.length; at++) {
    const digit = text.charCodeAt(from + at) | SMALL;
    const least = th.charCodeAt(at) | SMALL;
    if (digit !== least) return digit > least;
  }
  return true;
}

// The entry `ot` of a tracestate: a list such as `th:8;rv:6e6d1a75832a2f;key:value`.
// https://opentelemetry.io/docs/specs/otel/trace/tracestate-handling/

const KEY = 'ot';
/** Maximum length of an entry. */
const MAX_LENGTH = 256;
const TH = /^[0-9a-f]{1,14}$/i;
const RV = /^[0-9a-f]{14}$/i;

/** The sampling fields of the entry. */
export interface SamplingState {
  /** The threshold, without trailing zeros. */
  readonly th?: string | undefined;
  /** The explicit randomness, 14 digits, if it replaces the trace id's. */
  readonly rv?: string | undefined;
  /** Members unrelated to sampling. */
  readonly rest: readonly string[];
}

/** What {@link readState} finds. */
interface ReadState extends SamplingState {
  /** The number of `th` members, valid or not. More than one breaks the specification. */
  readonly thresholds: number;
}

const NOTHING: ReadState = { thresholds: 0, rest: [] };

/** Reads the entry and omits invalid values. Of several, the last counts, as in the SDK. */
export function readState(traceState: TraceState | undefined): ReadState {
  const entry = traceState?.get(KEY);
  if (!entry || entry.length > MAX_LENGTH) return NOTHING;
  const members = entry.split(';');
  const value = (key: string, form: RegExp): string | undefined => {
    const text = members.findLast((member) => member.startsWith(key))?.slice(key.length);
    return text !== undefined && form.test(text) ? text.toLowerCase() : undefined;
  };
  const th = value('th:', TH);
  return {
    th: th && shortened(th),
    rv: value('rv:', RV),
    thresholds: members.filter((member) => member.startsWith('th:')).length,
    rest: members.filter((member) => !/^(th|rv):/.test(member)),
  };
}

/** Formats the entry. Drops the last members if it would be too long. */
export function textOf({ th, rv, rest }: SamplingState): string {
  const members = [
    ...(th === undefined ? [] : [`th:${th}`]),
    ...(rv === undefined ? [] : [`rv:${rv}`]),
    ...rest,
  ];
  while (members.join(';').length > MAX_LENGTH) members.pop();
  return members.join(';');
}

/** The most members and characters of a tracestate. Receivers may drop a larger one. */
const MOST_MEMBERS = 32;
const MOST_LENGTH = 512;
/** Members above this length go first: https://www.w3.org/TR/trace-context/#tracestate-limits */
const LONG = 128;

/** Removes other members than the one just set, which is the first, until the limits hold. */
function fitted(traceState: TraceState): TraceState {
  let members = traceState.serialize().split(',');
  let fitting = traceState;
  for (;;) {
    const isLong = members.join(',').length > MOST_LENGTH;
    if (!isLong && members.length <= MOST_MEMBERS) return fitting;
    const long = isLong ? members.slice(1).find(({ length }) => length > LONG) : undefined;
    const removed = long ?? members.at(-1);
    members = members.filter((member) => member !== removed);
    fitting = fitting.unset(`${removed}`.replace(/=.*/, ''));
  }
}

/** The tracestate with this entry, within the limits; undefined if both are empty. */
export function writeState(
  traceState: TraceState | undefined,
  state: SamplingState,
): TraceState | undefined {
  const entry = textOf(state);
  if (traceState === undefined)
    return entry === '' ? undefined : createTraceState(`${KEY}=${entry}`);
  return entry === '' ? traceState.unset(KEY) : fitted(traceState.set(KEY, entry));
}

/** The result of all dropped spans. Frozen, because the SDK may keep results. */
export const DROP: SamplingResult = /* @__PURE__ */ Object.freeze({
  decision: SamplingDecision.NOT_RECORD,
});

/** The result of all spans that follow a sampled parent and keep its tracestate. */
export const FOLLOWED: SamplingResult = /* @__PURE__ */ Object.freeze({
  decision: SamplingDecision.RECORD_AND_SAMPLED,
});

/**
 * The attributes that Jaeger's samplers set on spans that they keep: under a limit, by a fixed
 * probability, or by the minimum of an operation.
 */
export function attributesOf(
  type: 'ratelimiting' | 'probabilistic' | 'lowerbound',
  parameter: number | undefined,
): Attributes {
  return Object.freeze({
    'sampler.type': type,
    ...(parameter === undefined ? {} : { 'sampler.param': parameter }),
  });
}

/** The tracestate of a result, if it differs from the parent's. */
export function changed(
  traceState: TraceState | undefined,
  state: SamplingState,
): Pick<SamplingResult, 'traceState'> {
  const next = writeState(traceState, state);
  return next === undefined ? {} : { traceState: next };
}

/**
 * The result of a kept span whose tracestate must state this threshold, and no other: an invalid,
 * second or wrong one is removed.
 */
export function stating(
  result: SamplingResult,
  traceState: TraceState | undefined,
  state: ReadState,
  th?: string,
): SamplingResult {
  if (state.thresholds === (th === undefined ? 0 : 1)) return result;
  return { ...result, ...changed(traceState, { ...state, th }) };
}

/** The result of a kept span with this state. */
export function kept(
  attributes: Attributes,
  traceState?: TraceState,
  state: SamplingState = { rest: [] },
): SamplingResult {
  return Object.freeze({
    decision: SamplingDecision.RECORD_AND_SAMPLED,
    attributes,
    ...changed(traceState, state),
  });
}
