const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** The greatest common divisor of `a`, at least 0, and `b`, at least 1. */
function commonDivisor(a: bigint, b: bigint): bigint {
  // Numbers are many times as fast as bigints, and most denominators are powers of two.
  if ((b & (b - 1n)) === 0n) {
    const lowestBit = a & -a;
    return a === 0n || lowestBit > b ? b : lowestBit;
  }
  while (b > MAX_SAFE) [a, b] = [b, a % b];
  if (b === 0n) return a;
  let [x, y] = [Number(b), Number(a % b)];
  while (y !== 0) [x, y] = [y, x % y];
  return BigInt(x);
}

/** An exact fraction, in which the reference implementations compute. Slow, but never rounded. */
export class Rational {
  static readonly ZERO = new Rational(0n, 1n);
  readonly #over: bigint;
  /** Positive, and coprime to `#over`. */
  readonly #under: bigint;

  private constructor(over: bigint, under: bigint) {
    this.#over = over;
    this.#under = under;
  }

  static #reduced(over: bigint, under: bigint): Rational {
    if (under < 0n) return Rational.#reduced(-over, -under);
    const common = commonDivisor(over < 0n ? -over : over, under);
    return common === 1n ? new Rational(over, under) : new Rational(over / common, under / common);
  }

  /** The exact value of a finite number. */
  static of(value: number): Rational {
    // Twice infinity is no integer either: the loop would never end.
    if (!Number.isFinite(value)) throw new RangeError(`${value} is no fraction`);
    let halvings = 0;
    let over = value;
    for (; !Number.isInteger(over); halvings++) over *= 2; // exact unless it overflows
    // Odd, if it was halved.
    return new Rational(BigInt(over), 1n << BigInt(halvings));
  }

  plus(other: Rational): Rational {
    const over = this.#over * other.#under + other.#over * this.#under;
    return Rational.#reduced(over, this.#under * other.#under);
  }

  minus(other: Rational): Rational {
    return this.plus(new Rational(-other.#over, other.#under));
  }

  times(other: Rational): Rational {
    return Rational.#reduced(this.#over * other.#over, this.#under * other.#under);
  }

  over(other: Rational): Rational {
    return Rational.#reduced(this.#over * other.#under, this.#under * other.#over);
  }

  /** Negative, 0 or positive if this is less than, equal to or greater than `other`. */
  compare(other: Rational): number {
    const difference = this.#over * other.#under - other.#over * this.#under;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  min(other: Rational): Rational {
    return this.compare(other) <= 0 ? this : other;
  }

  abs(): Rational {
    return this.#over < 0n ? new Rational(-this.#over, this.#under) : this;
  }

  floor(): Rational {
    const remainder = ((this.#over % this.#under) + this.#under) % this.#under;
    return new Rational((this.#over - remainder) / this.#under, 1n);
  }

  ceil(): Rational {
    return Rational.ZERO.minus(Rational.ZERO.minus(this).floor());
  }

  /** The nearest number, or one of its neighbours. */
  toNumber(): number {
    // 64 significant bits of the quotient exceed a double's precision.
    const bits = (value: bigint) => value.toString(2).length;
    const shift = BigInt(Math.max(0, 64 + bits(this.#under) - bits(this.#over)));
    return Number((this.#over << shift) / this.#under) / 2 ** Number(shift);
  }
}
