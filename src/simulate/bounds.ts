import { toleranceInTokens } from '../load/judge/guarantee.ts';
import { Fifo } from '../load/send/fifo.ts';

/** An upper bound that a limiter guarantees, checked in constant memory as admissions arrive. */
export abstract class Bound {
  /** The bound in words. */
  readonly promise: string;
  readonly allowed: number;
  /** The maximum number of admissions in any span of this length. */
  readonly most: (spanUs: number) => number;
  /** The admissions' highest value, to compare with {@link allowed}. */
  peak = 0;

  constructor({ promise, allowed, most }: Pick<Bound, 'promise' | 'allowed' | 'most'>) {
    this.promise = promise;
    this.allowed = allowed;
    this.most = most;
  }

  get held(): boolean {
    return this.peak <= this.allowed;
  }

  /**
   * Adds an admission, in microseconds. If its instant is only known to lie between two, pass both.
   * The `fromUs` of successive calls must ascend.
   */
  abstract add(fromUs: number, toUs?: number): void;

  /** Call when an admitted call has ended. */
  end(): void {}
}

/** A bound of a bucket: what arrives in it, and what follows from that. */
interface Inflow extends Pick<Bound, 'promise' | 'allowed' | 'most'> {
  /** Tokens that have arrived by this instant. */
  tokens(atUs: number): number;
  tolerance(lastUs: number, count: number): number;
}

/**
 * At most `burst` more than the inflow in any interval. The tightest intervals start and end on an
 * admission, so comparing each admission with the least lead before it is enough: see
 * {@link checkGuarantee}.
 */
class InflowBound extends Bound {
  readonly #inflow: Inflow;
  #count = 0;
  #least = Number.POSITIVE_INFINITY;
  #lastUs = 0;

  constructor(inflow: Inflow) {
    super(inflow);
    this.#inflow = inflow;
  }

  add(fromUs: number, toUs = fromUs): void {
    const inflow = this.#inflow;
    const lead = this.#count - inflow.tokens(fromUs);
    if (lead < this.#least) this.#least = lead;
    // Use the longest possible intervals.
    this.#lastUs = Math.max(this.#lastUs, toUs);
    const excess = this.#count + 1 - inflow.tokens(this.#lastUs) - this.#least;
    if (excess > this.peak) this.peak = excess;
    this.#count += 1;
  }

  override get held(): boolean {
    return this.peak <= this.allowed + this.#inflow.tolerance(this.#lastUs, this.#count);
  }
}

/** A bound for tokens that arrive continuously. */
export function rateBound(rate: number, burst: number): Bound {
  const ratePerUs = rate / 1e6;
  return new InflowBound({
    promise: `at most ${burst} + ${rate} x t in any t seconds`,
    allowed: burst,
    tokens: (atUs) => ratePerUs * atUs,
    tolerance: (lastUs, count) => toleranceInTokens(lastUs, count, ratePerUs, burst),
    most: (spanUs) => burst + ratePerUs * spanUs,
  });
}

/** A bound for fills of `quantum` tokens, counted from the limiter's creation at 0. */
export function quantumBound(quantum: number, fillIntervalMs: number, burst: number): Bound {
  const fillUs = fillIntervalMs * 1_000;
  // The limiter rounds its clock to ticks, which are coarser for very long intervals.
  const slackUs = Math.max(1 / 256, fillUs * 2 ** -49);
  return new InflowBound({
    promise: `at most ${burst}, plus ${quantum} per fill, every ${fillIntervalMs} ms`,
    allowed: burst,
    tokens: (atUs) => quantum * Math.floor((atUs + slackUs) / fillUs),
    tolerance: (_, count) => 4 * Number.EPSILON * (count + burst),
    most: (spanUs) => burst + quantum * (Math.floor(spanUs / fillUs) + 1),
  });
}

/** A bound on calls in flight. How many are admitted in a span depends on their duration. */
export class InFlightBound extends Bound {
  #inFlight = 0;

  constructor(permits: number) {
    const most = () => Number.POSITIVE_INFINITY;
    super({ promise: `at most ${permits} in flight`, allowed: permits, most });
  }

  add(): void {
    this.#inFlight += 1;
    if (this.#inFlight > this.peak) this.peak = this.#inFlight;
  }

  override end(): void {
    this.#inFlight -= 1;
  }
}

/** A bound on admissions in any half-open interval of one length. */
export class IntervalBound extends Bound {
  readonly #spanUs: number;
  /** Admissions in the interval that ends now. */
  readonly #recent = new Fifo<number>();
  #lastUs = Number.NEGATIVE_INFINITY;

  /** @param slackUs by how much the limiter's ticks may shorten the interval */
  constructor(allowed: number, intervalMs: number, slackUs: number, most: Bound['most']) {
    super({ promise: `at most ${allowed} in any ${intervalMs} ms`, allowed, most });
    this.#spanUs = intervalMs * 1_000 - slackUs;
  }

  add(fromUs: number, toUs = fromUs): void {
    const recent = this.#recent;
    this.#lastUs = Math.max(this.#lastUs, toUs);
    const beforeUs = this.#lastUs - this.#spanUs;
    while ((recent.peek() ?? Number.POSITIVE_INFINITY) <= beforeUs) recent.shift();
    recent.push(fromUs);
    if (recent.length > this.peak) this.peak = recent.length;
  }
}
