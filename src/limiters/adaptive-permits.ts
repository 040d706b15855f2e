// The rules by which a number of calls in flight follows the server's latency: pure functions of
// the last window's sample. `Adaptation` keeps their state in shared memory.
//
// Published sources. `gradient`: the first Gradient limit of Netflix's concurrency-limits, number x
// (least latency / latency) plus a queue of the square root of the number. How much of that queue a
// server needs follows from how far its windows scatter, as in TCP's retransmission timer: Jacobson,
// "Congestion Avoidance and Control", 1988. `vegas`: Brakmo and
// Peterson, "TCP Vegas", 1995, with the thresholds of Netflix's VegasLimit. `aimd`: Chiu and Jain,
// 1989. The share by which drops reduce the number: Alizadeh et al., "Data Center TCP", 2010. The
// least latency is measured again now and then at a lower number, as Envoy's adaptive concurrency
// filter does for its minRTT.
//
// What differs: latencies are averages of windows, not single calls, so that one slow call moves
// little. The measurement lowers the number only to where no queue is left, for about one latency
// and one window, and goes lower only while the latency still falls with the number: while there is
// a queue, that costs no throughput. The number of all threads is one, so only one of them measures.

/** How the number of an adaptive semaphore follows the server. */
export type AdaptRule = 'gradient' | 'vegas' | 'aimd';

/** The calls that ended in one window. */
export interface WindowSample {
  /** Calls with the outcome `ok`. */
  readonly count: number;
  /** The sum of their latencies in milliseconds. */
  readonly sumMs: number;
  /** The most permits in use when a call ended. */
  readonly mostInFlight: number;
  /** The time in milliseconds for which they held permits: more than the sum if they held several. */
  readonly heldMs: number;
  /** How long the window was open, in milliseconds. */
  readonly lastedMs: number;
  /** Calls with the outcome `dropped`. */
  readonly dropped: number;
}

// What a window is for; from FIRST on, a step of a measurement of the least latency.

/** The first window: calls have only begun to come. */
const STARTING = 0;
export const STEADY = 1;
/** Steady, until the first measurement is repeated: a program's first calls are slow. */
const EARLY = 2;
/** The second window: its latency is the first guess. */
const FIRST = 3;
/** Calls that began at the previous number end. */
export const SETTLING = 4;
export const LOOKING = 5;
/** The same at half the number, repeated while the latency falls. */
export const SETTLING_DEEP = 6;
const LOOKING_DEEP = 7;

/** What a rule keeps from window to window, under the same names in shared memory. */
export interface AdaptState {
  /** The number of calls in flight: a fraction; the permits are its integer part. */
  readonly number: number;
  /** The average latency without a queue in milliseconds; 0 until it is measured. */
  readonly least: number;
  /** The number and the latency in milliseconds before a measurement. */
  readonly heldNumber: number;
  readonly heldLatency: number;
  /** Windows until the next measurement. */
  readonly left: number;
  readonly phase: number;
  /** Calls that must end before the current window closes. */
  readonly needed: number;
  /** The shortest duration of the current window in milliseconds. */
  readonly span: number;
  /** The permits whose calls are served, not queued: an average of the last windows; 0 before. */
  readonly busy: number;
  /** How far the windows lie from that average. */
  readonly scatter: number;
}

/** The bounds of the number. */
export interface AdaptBounds {
  readonly min: number;
  readonly max: number;
}

const WINDOW_MS = 200;
/**
 * The share of the most permits in use that were in use on average, at least: the average of a window
 * that spans a pause, or of calls that are ignored, is lower than that of the traffic.
 */
const REACHED = 0.5;
/** A clock that stands still, as in tests, does not divide by 0. */
const SHORTEST_MS = 0.001;
const LEAST_CALLS = 50;
/** A window's sum of latencies must fit into its word. */
const MOST_CALLS = 8192;
/** Windows between two measurements: 40 to 60, so that semaphores do not measure together. */
const MEASURE_EVERY = 40;
const MEASURE_SPREAD = 21;
/** And from the first to the second. */
const REPEAT_AFTER = 5;
/**
 * The longest queue that `gradient` allows, in square roots of the number without a queue, less one
 * call, because permits are whole.
 */
const QUEUE = 2.7;
const WHOLE = 1;
/**
 * The queue that it needs: one call, to see whether there is one; one for each idle permit; and this
 * many times the scatter. A server whose calls take equally long scatters little.
 */
const SEEN = 1;
const SCATTERS = 6;
/** How much the last window weighs in the average and the scatter. */
const NEWEST = 0.5;
/**
 * Idle permits count as much as busy ones while there is no queue, so that the number does not
 * follow the traffic. A queue of a square root of the number counts each `QUEUED` less, at most
 * `MOST_QUEUED`: if calls queue although permits are idle, fewer will do.
 */
const QUEUED = 3;
const MOST_QUEUED = 0.7;
/** How far a window moves the number: no latency reduces it by more than half. */
const STEP = 0.5;
/** Nor do drops. */
const MOST_REDUCTION = 0.5;
/** A measurement looks at this share of the number without a queue; below it halves the number. */
const LOOK = 0.9;
const DEEPER = 0.5;
/** At half the number, a latency above this share of the previous one no longer falls with it. */
const FALLING = 0.8;
/** A look confirms the least latency within this tolerance and its sampling error. */
const TOLERANCE = 0.1;
const ERRORS = 1.5;
/** How far a look, a lower latency in use, and a latency without load move the least latency. */
const BY_LOOK = 0.3;
const BY_LOWER = 0.05;
const BY_IDLE = 0.2;

/** The state of a rule before the first call. */
export function firstState(number: number): AdaptState {
  return {
    ...{ number, least: 0, heldNumber: number, heldLatency: 0, left: 0 },
    ...{ phase: STARTING, needed: LEAST_CALLS, span: WINDOW_MS },
    ...{ busy: 0, scatter: 0 },
  };
}

function clamped(number: number, { min, max }: AdaptBounds): number {
  return Math.min(max, Math.max(min, number));
}

/**
 * The number at which the same throughput has no queue, by Little's law. The fraction of a number
 * is no call in flight: counted as one, it would add half a permit to a small server's queue.
 */
function unqueued(number: number, least: number, latencyMs: number): number {
  return Math.floor(number) * Math.min(1, least / latencyMs);
}

/** What a rule sees of a window: at most all permits are in use. */
interface Windowed {
  readonly number: number;
  readonly inUse: number;
  readonly scatter: number;
}

/** The longest queue that `gradient` allows while `busy` calls are served. */
function longestQueue(busy: number): number {
  return Math.max(0, QUEUE * Math.sqrt(busy) - WHOLE);
}

function gradient(state: Windowed, least: number, latencyMs: number): number {
  const { number, inUse, scatter } = state;
  const busy = inUse * Math.min(1, least / latencyMs);
  const idle = Math.floor(number) - inUse;
  const queued = (QUEUED * (inUse - busy)) / Math.sqrt(busy);
  const spare = idle * (1 - Math.min(MOST_QUEUED, queued));
  const queue = Math.min(longestQueue(busy), SEEN + idle + SCATTERS * scatter);
  return number + STEP * (busy + spare + queue - number);
}

function vegas({ number }: Windowed, least: number, latencyMs: number): number {
  const queue = Math.floor(number) - unqueued(number, least, latencyMs);
  const step = Math.max(1, Math.log10(number));
  if (queue <= step) return number + 6 * step;
  if (queue < 3 * step) return number + step;
  return queue > 6 * step ? number - step : number;
}

/** Grows by one call a window; only drops reduce it. */
function aimd({ number }: Windowed): number {
  return number + 1;
}

const RULES = { gradient, vegas, aimd };
/** The names of the rules. Shared memory contains their index + 1. */
export const ADAPT_RULES = /* @__PURE__ */ Object.keys(RULES) as readonly AdaptRule[];

function window(state: AdaptState, mostInFlight: number): Pick<AdaptState, 'needed' | 'span'> {
  // Twice the calls in flight: most of the calls that began at the previous number have ended.
  const calls = 2 * Math.min(state.number, mostInFlight);
  return {
    needed: Math.round(Math.min(MOST_CALLS, Math.max(LEAST_CALLS, calls))),
    span: WINDOW_MS,
  };
}

/** Lowers the number for a look at the latency, after the calls in flight have ended. */
function lowered(
  state: AdaptState,
  before: number,
  number: number,
  phase: typeof SETTLING | typeof SETTLING_DEEP,
): AdaptState {
  const needed = Math.ceil(Math.min(MOST_CALLS, before));
  return { ...state, number, phase, needed, span: 0 };
}

/** Looks for a least latency below this one, at half the number. */
function deeper(state: AdaptState, least: number, number: number): AdaptState {
  return lowered({ ...state, least }, number, number * DEEPER, SETTLING_DEEP);
}

/** Ends a measurement: the number that would have had the rule's queue before it. */
function measured(state: AdaptState, least: number, { sumMs }: WindowSample): AdaptState {
  const { heldNumber, heldLatency } = state;
  const busy = unqueued(heldNumber, least, heldLatency);
  const number = Math.min(heldNumber, busy + longestQueue(busy));
  const spread = Math.floor(sumMs * 1000) % MEASURE_SPREAD;
  // No window was steady yet.
  const next =
    state.busy === 0
      ? { phase: EARLY, left: REPEAT_AFTER }
      : { phase: STEADY, left: MEASURE_EVERY + spread };
  return { ...state, ...next, number, least };
}

/** The next state, if calls were dropped. They end a measurement: the server is beyond its limit. */
function afterDrops(state: AdaptState, { count, dropped, mostInFlight }: WindowSample): AdaptState {
  const isMeasuring = state.phase > FIRST;
  const from = isMeasuring ? state.heldNumber : state.number;
  // A higher number that was not in use did not cause the drops.
  const used = isMeasuring ? from : Math.min(from, mostInFlight);
  const share = dropped / (count + dropped);
  const number = used * Math.max(MOST_REDUCTION, 1 - share);
  const phase = isMeasuring ? STEADY : state.phase;
  return { ...state, number, phase };
}

/** The average of the permits that are not queued, and how far the windows lie from it. */
function scattered(
  { busy, scatter }: AdaptState,
  now: number,
): Pick<AdaptState, 'busy' | 'scatter'> {
  // More would allow no longer queue, and take longer to forget.
  const most = longestQueue(now) / SCATTERS;
  if (busy === 0) return { busy: now, scatter: most };
  const off = now - busy;
  return {
    busy: busy + NEWEST * off,
    scatter: scatter + NEWEST * (Math.min(most, Math.abs(off)) - scatter),
  };
}

function steady(
  rule: AdaptRule,
  state: AdaptState,
  latencyMs: number,
  sample: WindowSample,
  bounds: AdaptBounds,
): AdaptState {
  const { number } = state;
  const { mostInFlight } = sample;
  // Less than half in use: nothing queued here, so the latency is the server's own.
  if (mostInFlight < number / 2) {
    const least = state.least + BY_IDLE * (latencyMs - state.least);
    return { ...state, least, left: MEASURE_EVERY };
  }
  const least = state.least + BY_LOWER * Math.min(0, latencyMs - state.least);
  // The permits in use on average, by Little's law: those on their way between callers, which other
  // processes may take milliseconds to notice, count as idle.
  const average = sample.heldMs / Math.max(sample.lastedMs, SHORTEST_MS);
  const running = Math.max(average, REACHED * mostInFlight);
  const inUse = Math.max(1, Math.min(Math.floor(number), running));
  const spread = scattered(state, inUse * Math.min(1, least / latencyMs));
  const wanted = RULES[rule]({ number, inUse, scatter: spread.scatter }, least, latencyMs);
  // A number that is not reached says nothing about a higher one. It is reached when one more call
  // finds no room: calls of three permits leave two of 20 idle.
  const perCall = Math.max(1, sample.heldMs / Math.max(sample.sumMs, SHORTEST_MS));
  const isUsed = mostInFlight + perCall > Math.floor(number);
  const next = clamped(isUsed ? wanted : Math.min(number, wanted), bounds);
  const left = state.left - 1;
  const moved = { ...state, ...spread, number: next, least, left };
  if (rule === 'aimd' || left > 0) return moved;
  const held = { ...moved, heldNumber: next, heldLatency: latencyMs };
  if (state.phase === EARLY) return deeper(held, latencyMs, next);
  const look = LOOK * unqueued(next, least, latencyMs);
  return lowered(held, next, look, SETTLING);
}

/** The next state of the rule while calls end without drops. */
function advanced(
  rule: AdaptRule,
  state: AdaptState,
  sample: WindowSample,
  bounds: AdaptBounds,
): AdaptState {
  const { number, least } = state;
  const latencyMs = sample.sumMs / sample.count;
  switch (state.phase) {
    case STARTING:
      return { ...state, phase: FIRST };
    case FIRST: {
      const held = { ...state, heldNumber: number, heldLatency: latencyMs };
      if (rule !== 'aimd' && sample.mostInFlight >= number / 2) {
        return deeper(held, latencyMs, number);
      }
      return { ...held, least: latencyMs, phase: STEADY, left: MEASURE_EVERY };
    }
    case SETTLING:
    case SETTLING_DEEP:
      // A look follows.
      return { ...state, phase: state.phase + 1 };
    case LOOKING: {
      const error = TOLERANCE + ERRORS / Math.sqrt(sample.count);
      if (latencyMs > least * (1 + error)) return deeper(state, latencyMs, number);
      return measured(state, least + BY_LOOK * (latencyMs - least), sample);
    }
    case LOOKING_DEEP: {
      if (latencyMs >= least * FALLING || number <= bounds.min) {
        return measured(state, Math.min(latencyMs, least), sample);
      }
      return deeper(state, latencyMs, number);
    }
    default:
      return steady(rule, state, latencyMs, sample, bounds);
  }
}

/** The state after a window. Windows without calls change nothing. */
export function nextState(
  rule: AdaptRule,
  state: AdaptState,
  sample: WindowSample,
  bounds: AdaptBounds,
): AdaptState {
  if (sample.count + sample.dropped === 0) return state;
  const chosen =
    sample.dropped > 0 ? afterDrops(state, sample) : advanced(rule, state, sample, bounds);
  const next = { ...chosen, number: clamped(chosen.number, bounds) };
  const isSettling = next.phase === SETTLING || next.phase === SETTLING_DEEP;
  return isSettling ? next : { ...next, ...window(next, sample.mostInFlight) };
}
