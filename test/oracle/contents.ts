import { Rational } from '../support/rational.ts';

const MILLION = Rational.of(1e6);
const THOUSAND = Rational.of(1e3);
const ZERO = Rational.ZERO;

/** A limit, with the options of `TokenBucket.create`. A leaky bucket has a burst of 1 + slack. */
export type Limit =
  | { readonly rate: number; readonly burst: number }
  | { readonly quantum: number; readonly fillIntervalMs: number; readonly burst: number };

export function max(a: Rational, b: Rational): Rational {
  return a.compare(b) >= 0 ? a : b;
}

/** Per microsecond, or per fill. A limit that was never above 0 has none. */
function flowOf(limit: Limit): Rational {
  if (!('rate' in limit)) return Rational.of(limit.quantum);
  return Rational.of(limit.rate || 1).over(MILLION);
}

/**
 * What one limit holds, as a textbook has it: tokens flow in, some are taken, and any above the burst
 * are lost. The zero-time is in tokens that have arrived since an instant. An operation makes another
 * one. A window is a bucket that one fill makes full.
 *
 *     tokens = min(burst, arrived - zero)
 */
export class Contents {
  readonly limit: Limit;
  readonly burst: Rational;
  /** Of a limit of 0: before it became 0. */
  readonly flow: Rational;
  readonly everyUs: Rational | undefined;
  readonly sinceUs: Rational;
  readonly zero: Rational;

  constructor(limit: Limit, sinceUs: Rational, zero = ZERO, flow = flowOf(limit)) {
    this.limit = limit;
    this.burst = Rational.of(limit.burst);
    this.flow = flow;
    this.everyUs = 'rate' in limit ? undefined : Rational.of(limit.fillIntervalMs).times(THOUSAND);
    this.sinceUs = sinceUs;
    this.zero = zero;
  }

  static full(limit: Limit, sinceUs: Rational): Contents {
    return new Contents(limit, sinceUs, ZERO.minus(Rational.of(limit.burst)));
  }

  get isPaused(): boolean {
    return 'rate' in this.limit && this.limit.rate === 0;
  }

  withZero(zero: Rational): Contents {
    return new Contents(this.limit, this.sinceUs, zero, this.flow);
  }

  holding(tokens: Rational, us: Rational): Contents {
    return this.withZero(this.arrivedBy(us).minus(tokens));
  }

  /** What flows in during a time, from a fill on, even if it stands still now. */
  flowIn(us: Rational): Rational {
    return (this.everyUs === undefined ? us : us.over(this.everyUs).floor()).times(this.flow);
  }

  /** Tokens that have arrived since the limit came into force. */
  arrivedBy(us: Rational): Rational {
    return this.isPaused ? ZERO : this.flowIn(us.minus(this.sinceUs));
  }

  /** The zero-time, raised to that of a full bucket at a number of arrived tokens. */
  floored(arrived: Rational): Rational {
    return max(this.zero, arrived.minus(this.burst));
  }

  /** Tokens held, negative in debt. */
  balance(us: Rational): Rational {
    const arrived = this.arrivedBy(us);
    return arrived.minus(this.floored(arrived));
  }

  /** Microseconds until it holds `tokens`; undefined if it never will. */
  waitUs(tokens: Rational, us: Rational): Rational | undefined {
    const missing = tokens.minus(this.balance(us));
    if (missing.compare(ZERO) <= 0) return ZERO;
    if (tokens.compare(this.burst) > 0 || this.isPaused) return undefined;
    if (this.everyUs === undefined) return missing.over(this.flow);
    const passed = us.minus(this.sinceUs);
    const fills = passed.over(this.everyUs).floor().plus(missing.over(this.flow).ceil());
    return fills.times(this.everyUs).minus(passed);
  }

  /** Without `tokens` that are granted at the end of a time, up to which it fills. */
  taking(tokens: Rational, us: Rational, spanUs = ZERO): Contents {
    const end = this.arrivedBy(us).plus(this.flowIn(spanUs));
    return this.withZero(this.floored(end).plus(tokens));
  }

  /** With returned tokens, up to a number. */
  returned(tokens: Rational, us: Rational, most = this.burst): Contents {
    return this.holding(this.balance(us).plus(tokens).min(most), us);
  }

  /** Empty from now until a time has passed. A window stays empty until one begins at its end or after it. */
  blocked(us: Rational, forUs: Rational): Contents {
    const passed = us.plus(forUs).minus(this.sinceUs);
    const { everyUs, isPaused } = this;
    const fills =
      everyUs === undefined ? passed : passed.over(everyUs).ceil().minus(Rational.of(1));
    const arrived = this.arrivedBy(us);
    return this.withZero(max(this.floored(arrived), isPaused ? arrived : fills.times(this.flow)));
  }
}
