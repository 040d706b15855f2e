import { Rational } from '../support/rational.ts';
import { max } from './contents.ts';

const ZERO = Rational.ZERO;
/** The parts of a microsecond that doubles hold for years, and the ticks of rates up to 16,000/s. */
const FINEST = Rational.of(64);
const COARSEST = Rational.of(2 ** 52);

export function isAfter(a: Rational, b: Rational): boolean {
  return a.compare(b) > 0;
}

/** A change while tokens are promised. */
interface Change {
  readonly now: Rational;
  /** From the present to the last promised instant. */
  readonly left: Rational;
  /** A bound of the pending tokens. */
  readonly most: Rational;
  readonly index: Rational;
  readonly version: number;
  readonly lowered: number;
  /** The largest old rate / new rate, and the slowest new rate. */
  readonly stretch: Rational;
  readonly slowest: Rational;
  readonly isPaused: boolean;
}

/** Virtual to real instants: see src/kernel/engine/limit-set/schedule.ts. */
export class Schedule {
  atUs: Rational;
  virtualAt: Rational;
  #slope = Rational.of(1);
  #upTo = ZERO;
  anchor = 0;
  /** Whole tokens by which bursts were lowered while the pending ones were promised. */
  lowered = 0;
  isFrozen = false;
  /** The virtual instant of the last promise that a reset has forgotten. */
  #forgotten: Rational | undefined;
  /** Whether a restart has put forgotten promises off to the end of a pause. */
  #isWithheld = false;

  /** Begins with virtual instants that are real. */
  constructor(us: Rational) {
    this.atUs = us;
    this.virtualAt = us;
  }

  /** Goes on from another anchor, at which `pending` tokens are due until the last one so far. */
  begin(pending: Rational, slope: Rational, upTo: Rational, anchor: number): void {
    this.#isWithheld ||= this.isFrozen && this.isKept;
    this.#slope = slope;
    this.virtualAt = ZERO.minus(pending);
    this.#upTo = upTo;
    this.anchor = anchor;
    this.lowered = 0;
    this.#forgotten = undefined;
  }

  /** Whether the engine's doubles and ticks hold an instant. */
  static isExact(us: Rational, virtual: Rational): boolean {
    const ticks = us.times(FINEST);
    const isDouble = virtual.compare(Rational.of(virtual.toNumber())) === 0;
    return isDouble && ticks.compare(ticks.floor()) === 0;
  }

  virtualOf(us: Rational): Rational {
    return this.virtualAt.plus(us.minus(this.atUs).over(this.#slope));
  }

  /** Goes on from an instant, or stands still there. */
  moveTo(us: Rational, isFrozen: boolean): void {
    if (!this.isFrozen) this.virtualAt = this.virtualOf(us);
    this.atUs = us;
    this.isFrozen = isFrozen;
    this.#isWithheld &&= isFrozen;
  }

  stretchBy(factor: Rational): void {
    this.#slope = this.#slope.times(factor);
  }

  /** Forgets the promises up to an instant. */
  forget(us: Rational): void {
    const virtual = this.virtualOf(us);
    this.#forgotten = this.#forgotten === undefined ? virtual : max(this.#forgotten, virtual);
  }

  /** Whether a forgotten promise is due after the instant to which the schedule was moved. */
  get isKept(): boolean {
    return this.#forgotten !== undefined && isAfter(this.#forgotten, this.virtualAt);
  }

  moveUp(us: Rational): void {
    this.virtualAt = this.virtualAt.plus(us.over(this.#slope));
  }

  /** When a promise is due; undefined if that is open. */
  dueOf({ virtual, anchor, index }: { virtual: Rational; anchor: number; index: Rational }) {
    const at = anchor === this.anchor ? virtual : index.minus(this.#upTo);
    const rest = at.minus(this.virtualAt);
    const isPast = !isAfter(rest, ZERO) && !this.#isWithheld;
    if (isPast) return { isPast, dueUs: this.atUs };
    const dueUs = this.isFrozen ? undefined : this.atUs.plus(rest.times(this.#slope));
    return { isPast, dueUs };
  }

  /** Takes the earlier of the two schedules: from now to its last instant, and whether it restarts. */
  change({ now, left, most, index, version, lowered, stretch, slowest, isPaused }: Change) {
    this.moveTo(now, isPaused);
    let pending = most.plus(Rational.of(this.lowered));
    // Promises so far are due by their index.
    if (this.anchor !== 0 && this.virtualAt.compare(ZERO) < 0) {
      pending = pending.min(index.minus(this.#upTo).minus(this.virtualAt));
    }
    // Beyond this, the engine restarts: see src/kernel/engine/limit-set/schedule.ts.
    const coarse = this.virtualAt.abs().times(this.#slope).times(stretch);
    const isExact = !isAfter(coarse, COARSEST);
    const restarts = isAfter(left.times(stretch), pending.over(slowest));
    this.lowered += lowered;
    if (restarts) this.begin(pending, Rational.of(1).over(slowest), index, version);
    else this.stretchBy(stretch);
    return { span: restarts ? pending.over(slowest) : left.times(stretch), restarts, isExact };
  }
}
