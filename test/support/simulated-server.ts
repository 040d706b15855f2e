import {
  type AdaptRule,
  type AdaptState,
  firstState,
  nextState,
} from '../../src/limiters/adaptive-permits.ts';
import type { Limit } from './netflix-limits.ts';
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
