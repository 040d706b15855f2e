const UNITS = 256;
const LAST = 2 ** 40 - 1;

/** Rounded to 1/65536, and then to 18 significant bits; halves up. At most 2^42. */
function rounded(count: number): number {
  const parts = Math.floor(Math.min(count, 2 ** 42) * 65_536 + 0.5);
  const step = 2 ** Math.max(0, parts === 0 ? 0 : Math.floor(Math.log2(parts)) - 17);
  return (Math.floor(parts / step + 0.5) * step) / 65_536;
}

/** What is right for the arrivals at a sampler, as slow and plain code for one caller at a time. */
export class ArrivalsOracle {
  readonly #originUs: number;
  readonly #smoothingMs: number;
  #count = 0;
  #instant = 0;
  #refusals = 0;
  #isOpen = false;

  constructor(originUs: number, smoothingMs: number) {
    this.#originUs = originUs;
    this.#smoothingMs = smoothingMs;
  }

  #instantOf(nowUs: number): number {
    const units = Math.floor((nowUs - this.#originUs) / ((this.#smoothingMs * 1000) / UNITS));
    return units > 0 ? Math.min(units, LAST) : 0;
  }

  #at(instant: number): number {
    const units = Math.max(0, instant - this.#instant);
    return units >= 64 * UNITS ? 0 : this.#count * Math.exp(-units / UNITS);
  }

  add(nowUs: number, n: number): number {
    const instant = this.#instantOf(nowUs);
    this.#count = rounded(this.#at(instant) + n);
    this.#instant = Math.max(this.#instant, instant);
    return this.perSecond(nowUs);
  }

  perSecond(nowUs: number): number {
    return (this.#at(this.#instantOf(nowUs)) * 1000) / this.#smoothingMs;
  }

  refuse(): void {
    this.#refusals++;
    this.#isOpen = true;
  }

  answer(): boolean {
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    return wasOpen;
  }

  refusals(): number {
    return this.#refusals;
  }
}
