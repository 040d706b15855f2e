import { createTraceState, type TraceState } from '@opentelemetry/api';

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

const NOTHING: SamplingState = { rest: [] };

/** Reads the entry and omits invalid values. */
export function readState(traceState: TraceState | undefined): SamplingState {
  const entry = traceState?.get(KEY);
  if (!entry || entry.length > MAX_LENGTH) return NOTHING;
  const members = entry.split(';');
  const value = (key: string, form: RegExp): string | undefined => {
    const text = members.findLast((member) => member.startsWith(key))?.slice(key.length);
    return text !== undefined && form.test(text) ? text.toLowerCase() : undefined;
  };
  const th = value('th:', TH);
  return {
    th: th === undefined ? undefined : th.replace(/0+$/, '') || '0',
    rv: value('rv:', RV),
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

/** The limits of a whole tracestate: one beyond them may be dropped by whoever receives it. */
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
