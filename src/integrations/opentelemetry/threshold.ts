/** Hexadecimal digits of a threshold: 56 bits. */
export const DIGITS = 14;
/** Digits after the leading `f`s, as recommended by the specification. */
const PRECISION = 4;
const STEPS = 16 ** PRECISION;
const LEAST = 2 ** -56;

/** The letters of 0 and a: those of digits are below those of a to f. */
const [ZERO, A] = [48, 97];
const F = 15;
/** OR with this makes a letter lower-case and leaves a digit unchanged. */
const SMALL = 0x20;

function letterOf(digit: number): number {
  return digit < 10 ? ZERO + digit : A + digit - 10;
}

/**
 * A rejection threshold: spans whose 56-bit randomness is below it are dropped. It is compared with
 * hexadecimal randomness digit by digit, without parsing or allocation.
 *
 * https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
 */
export class Threshold {
  readonly #letters = new Uint8Array(DIGITS);
  /** Without trailing zeros. */
  #length = 0;
  #probability = 1;
  #text: string | undefined;
  #integer: bigint | undefined;

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
    this.#text = undefined;
    this.#integer = undefined;
    this.#write(STEPS - kept, digits);
  }

  #write(last: number, digits: number): void {
    const letters = this.#letters;
    let rest = last;
    this.#length = 0;
    for (let at = digits - 1; at >= 0; at--) {
      const digit = at >= digits - PRECISION ? rest % 16 : F;
      rest = Math.floor(rest / 16);
      letters[at] = letterOf(digit);
      if (this.#length === 0 && digit !== 0) this.#length = at + 1;
    }
  }

  /** Whether the randomness, 14 hexadecimal digits of `text` at `from`, reaches the threshold. */
  isMet(text: string, from: number): boolean {
    for (let at = 0; at < this.#length; at++) {
      const digit = text.charCodeAt(from + at) | SMALL;
      const least = this.#letters[at] as number; // within its length
      if (digit !== least) return digit > least;
    }
    return true;
  }

  /** The probability of keeping a span. Its inverse is the adjusted count. */
  get probability(): number {
    return this.#probability;
  }

  /** The value of `th`, without trailing zeros; `0` if all spans are kept. */
  get text(): string {
    this.#text ??= String.fromCharCode(...this.#letters.subarray(0, this.#length)) || '0';
    return this.#text;
  }

  /** The threshold as a 56-bit integer. */
  get integer(): bigint {
    this.#integer ??= integerOf(this.text);
    return this.#integer;
  }
}

/** Converts a `th` to a 56-bit integer. */
export function integerOf(th: string): bigint {
  return BigInt(`0x${th.padEnd(DIGITS, '0')}`);
}

/** Whether randomness reaches a `th`. Both are hexadecimal. */
export function reaches(randomness: string, from: number, th: string): boolean {
  for (let at = 0; at < th.length; at++) {
    const digit = randomness.charCodeAt(from + at) | SMALL;
    const least = th.charCodeAt(at) | SMALL;
    if (digit !== least) return digit > least;
  }
  return true;
}
