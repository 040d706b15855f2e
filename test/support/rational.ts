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
    const sign = under < 0n ? -1n : 1n;
    let a = over < 0n ? -over : over;
    let b = under * sign;
    while (b !== 0n) [a, b] = [b, a % b];
    return new Rational((over * sign) / a, (under * sign) / a);
  }

  /** The exact value of a finite number. */
  static of(value: number): Rational {
    let under = 1n;
    let over = value;
    while (!Number.isInteger(over)) {
      over *= 2; // exact unless it overflows
      under *= 2n;
    }
    return Rational.#reduced(BigInt(over), under);
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
