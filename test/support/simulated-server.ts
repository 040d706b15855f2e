import {
  type AdaptRule,
  type AdaptState,
  firstState,
  nextState,
} from '../../src/limiters/adaptive-permits.ts';
import { Random } from './random.ts';

/** Traffic and a server whose capacity is halved for the second of three parts. */
export interface ServerRun {
  /** Calls that are served at once: c of M/M/c and M/D/c. */
  readonly capacity: number;
  /** Whether each call takes exactly the mean time. */
  readonly isFixedTime: boolean;
  /** Poisson arrivals, as a multiple of what the server can do. */
  readonly load: number;
  readonly random: Random;
  /** Undefined for a number that stays as it is, or follows `limit`. */
  readonly rule: AdaptRule | undefined;
  readonly initial: number;
  /** Another library's rule. It begins at its own number. */
  readonly limit?: Limit;
  /** Windows of 200 ms and 50 calls before each measurement. Default 20. */
  readonly settling?: number;
  readonly parts?: number;
  /** Requests beyond this number in the server are dropped at once. Default: they queue. */
  readonly room?: number;
}

/** What came of a part, after its first windows. */
export interface ServerPart {
  /** Calls that ended per second. */
  readonly goodput: number;
  readonly p99Ms: number;
  /** The number: its median, and where 90 % of the windows lie. */
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

const MEAN_MS = 10;
const SETTLING_WINDOWS = 20;
const MEASURED_WINDOWS = 50;
const BOUNDS = { min: 1, max: 500 };

/** Departures in order of time. */
class Departures {
  readonly #times: number[] = [];
  readonly #arrivals: number[] = [];

  get next(): number {
    return this.#times[0] ?? Number.POSITIVE_INFINITY;
  }

  add(atMs: number, arrivedMs: number): void {
    // Few are ahead of it from the end: times of service differ by little.
    let i = this.#times.length;
    while (i > 0 && (this.#times[i - 1] ?? 0) > atMs) i--;
    this.#times.splice(i, 0, atMs);
    this.#arrivals.splice(i, 0, arrivedMs);
  }

  /** When the call that departs next arrived. */
  take(): number {
    this.#times.shift();
    return this.#arrivals.shift() ?? 0;
  }
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

/** Runs Poisson traffic against a server, behind a number of calls in flight. */
export function runServer(run: ServerRun): ServerPart[] {
  const { capacity, isFixedTime, load, random, rule, initial, parts = 3 } = run;
  const { room = Number.POSITIVE_INFINITY, limit, settling = SETTLING_WINDOWS } = run;
  // Service times have numbers of their own, so that arrivals are the same for every rule.
  const services = new Random(random.bits());
  const span = (mean: number, from = random) => -mean * Math.log(1 - from.bits() / 2 ** 32);
  const numberNow = () => limit?.number ?? state.number;
  const gapMs = MEAN_MS / (capacity * load);
  let state: AdaptState = firstState(initial);
  const departures = new Departures();
  const queue: number[] = [];
  let [slots, busy, inFlight, nowMs, arrivalMs] = [capacity, 0, 0, 0, span(gapMs)];
  let window = { count: 0, sumMs: 0, mostInFlight: 0, dropped: 0 };
  let [openedMs, windows, measuredFromMs] = [0, 0, Number.POSITIVE_INFINITY];
  let [latencies, numbers]: [number[], number[]] = [[], []];
  const results: ServerPart[] = [];

  const serve = (arrivedMs: number) => {
    busy++;
    departures.add(nowMs + (isFixedTime ? MEAN_MS : span(MEAN_MS, services)), arrivedMs);
  };
  const arrive = () => {
    nowMs = arrivalMs;
    arrivalMs = nowMs + span(gapMs);
    if (inFlight >= Math.floor(numberNow())) return;
    if (inFlight >= room) {
      window.mostInFlight = Math.max(window.mostInFlight, inFlight + 1);
      window.dropped++;
      limit?.ended({ atMs: nowMs, latencyMs: MEAN_MS, inFlight, isDropped: true });
      return;
    }
    inFlight++;
    if (busy < slots) serve(nowMs);
    else queue.push(nowMs);
  };
  const depart = () => {
    nowMs = departures.next;
    const latencyMs = nowMs - departures.take();
    window.mostInFlight = Math.max(window.mostInFlight, inFlight);
    window.count++;
    window.sumMs += latencyMs;
    limit?.ended({ atMs: nowMs, latencyMs, inFlight, isDropped: false });
    busy--;
    inFlight--;
    if (nowMs >= measuredFromMs) latencies.push(latencyMs);
    while (busy < slots && queue.length > 0) serve(queue.shift() ?? nowMs);
  };
  const endPart = () => {
    latencies.sort((a, b) => a - b);
    numbers.sort((a, b) => a - b);
    results.push({
      goodput: latencies.length / ((nowMs - measuredFromMs) / 1000),
      p99Ms: quantile(latencies, 0.99),
      median: quantile(numbers, 0.5),
      low: quantile(numbers, 0.05),
      high: quantile(numbers, 0.95),
    });
    [latencies, numbers, windows, measuredFromMs] = [[], [], 0, Number.POSITIVE_INFINITY];
    slots = results.length === 1 ? Math.ceil(capacity / 2) : capacity;
  };

  while (results.length < parts) {
    if (arrivalMs < departures.next) arrive();
    else depart();
    const isFull = window.count + window.dropped >= state.needed;
    if (!isFull || nowMs - openedMs < state.span) continue;
    const lastedMs = nowMs - openedMs;
    if (rule !== undefined) {
      state = nextState(rule, state, { ...window, heldMs: window.sumMs, lastedMs }, BOUNDS);
    }
    window = { count: 0, sumMs: 0, mostInFlight: 0, dropped: 0 };
    openedMs = nowMs;
    windows++;
    if (measuredFromMs < Number.POSITIVE_INFINITY) numbers.push(numberNow());
    if (windows === settling) measuredFromMs = nowMs;
    if (windows === settling + MEASURED_WINDOWS) endPart();
  }
  return results;
}

// The limits of Netflix's concurrency-limits, from their published rules and defaults, to compare
// with: `Gradient2Limit` behind `WindowedLimit`, as its documentation describes it; `VegasLimit`,
// the default of its limiters, and `AIMDLimit`, which both judge each call.
// https://github.com/Netflix/concurrency-limits, concurrency-limits-core

/** A call that has ended. */
export interface EndedCall {
  readonly atMs: number;
  readonly latencyMs: number;
  /** Calls in flight: there when it began, here when it ended. */
  readonly inFlight: number;
  readonly isDropped: boolean;
}

/** A number of calls in flight that follows them. */
export interface Limit {
  readonly number: number;
  ended(call: EndedCall): void;
}

const INITIAL = 20;
const WINDOW_MS = 1000;
const LEAST_CALLS = 10;

/** Moves towards the ratio of the long-term average latency to the last second's. */
export class Gradient2 implements Limit {
  number = INITIAL;
  readonly #most: number;
  #long = 0;
  #windows = 0;
  #window = { count: 0, sumMs: 0, mostInFlight: 0 };
  #closesMs = 0;

  /** The default least number of 20 would be far above a small server's: here it is 1. */
  constructor(most = 500) {
    this.#most = most;
  }

  ended({ atMs, latencyMs, inFlight }: EndedCall): void {
    const { count, sumMs, mostInFlight } = this.#window;
    this.#window = {
      ...{ count: count + 1, sumMs: sumMs + latencyMs },
      mostInFlight: Math.max(mostInFlight, inFlight),
    };
    if (atMs <= this.#closesMs) return;
    this.#closesMs = atMs + WINDOW_MS;
    const closed = this.#window;
    this.#window = { count: 0, sumMs: 0, mostInFlight: 0 };
    if (closed.count >= LEAST_CALLS) this.#move(closed.sumMs / closed.count, closed.mostInFlight);
  }

  #move(short: number, inFlight: number): void {
    this.#windows++;
    // A plain average of 10 windows, then an exponential one over 600.
    const share = this.#windows <= 10 ? 1 / this.#windows : 2 / 601;
    this.#long += share * (short - this.#long);
    const long = this.#long;
    if (long > 2 * short) this.#long *= 0.9;
    if (inFlight < this.number / 2) return;
    const gradient = Math.min(1, Math.max(0.5, long / short));
    const wanted = this.number * gradient + 4;
    this.number = Math.min(this.#most, Math.max(1, this.number + 0.2 * (wanted - this.number)));
  }
}

/** Keeps the queue between 3 and 6 times the logarithm of the number. */
export class Vegas implements Limit {
  number = INITIAL;
  readonly #random: () => number;
  readonly #most: number;
  #least = 0;
  #sinceProbe = 0;
  #probeShare: number;

  /** @param random from 0 to 1, for the instants of its probes */
  constructor(random: () => number, most = 500) {
    this.#random = random;
    this.#most = most;
    this.#probeShare = 0.5 + random() / 2;
  }

  ended({ latencyMs, inFlight, isDropped }: EndedCall): void {
    const { number } = this;
    this.#sinceProbe++;
    if (this.#sinceProbe >= this.#probeShare * 30 * number) {
      this.#probeShare = 0.5 + this.#random() / 2;
      this.#sinceProbe = 0;
      this.#least = latencyMs;
      return;
    }
    if (this.#least === 0 || latencyMs < this.#least) {
      this.#least = latencyMs;
      return;
    }
    const step = Math.max(1, Math.floor(Math.log10(Math.floor(number))));
    const queue = Math.ceil(number * (1 - this.#least / latencyMs));
    let change = 0;
    if (isDropped) change = -step;
    else if (2 * inFlight < number) return;
    else if (queue <= step) change = 6 * step;
    else if (queue < 3 * step) change = step;
    else if (queue > 6 * step) change = -step;
    this.number = Math.min(this.#most, Math.max(1, number + change));
  }
}

/** One more with each call, unless it was dropped or took 5 s: then a tenth less. */
export class Aimd implements Limit {
  number = 10;
  readonly #most: number;

  /** Without a bound, it grows for as long as nothing is dropped. */
  constructor(most = 500) {
    this.#most = most;
  }

  ended({ latencyMs, inFlight, isDropped }: EndedCall): void {
    const { number } = this;
    if (isDropped || latencyMs > 5000) {
      this.number = Math.max(1, Math.min(number - 1, Math.floor(number * 0.9)));
    } else if (2 * inFlight >= number) {
      this.number = Math.min(this.#most, number + 1);
    }
  }
}
