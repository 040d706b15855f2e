// test/support/plain-bucket.ts: the algorithm, written to be read rather than to be fast.
import { LATER, NEVER, type TokenKernel } from '../../src/kernel/bucket/kernel.ts';
import { type Schedule, ticksOf } from '../../src/kernel/bucket/schedule.ts';

const LONGEST_WAIT = 2 ** 59; // 4.4 years of ticks, so that the 64-bit word never overflows

/** A token bucket whose only state is one shared word: the tick at which the bucket was empty. */
export class PlainKernel implements Omit<TokenKernel, 'charge'> {
  readonly #word: BigInt64Array;
  readonly #limit: Schedule;
  readonly #capTicks: bigint;
  #last = { held: 0n, cost: 0n, word: 0n };
  failedExchanges = 0;

  constructor(memory: SharedArrayBuffer, limit: Schedule) {
    this.#word = new BigInt64Array(memory);
    this.#limit = limit;
    this.#capTicks = this.#ticks(limit.burst);
  }

  /** The one loop. Takes as many of the ticks held as `costOf` says; for 0 it writes nothing. */
  #take(nowUs: number, costOf: (held: bigint) => bigint) {
    const now = BigInt(Math.round(nowUs * this.#limit.ticksPerMicro));
    for (;;) {
      const zeroTime = Atomics.load(this.#word, 0);
      const held = least(now - zeroTime, this.#capTicks); // negative in debt
      const cost = costOf(held);
      if (cost === 0n) return { held, cost, word: zeroTime };
      const word = now - held + cost;
      if (this.#exchange(zeroTime, word)) return { held, cost, word };
      this.failedExchanges++; // another thread changed the word in between: decide again
    }
  }
  #exchange(expected: bigint, next: bigint) {
    return Atomics.compareExchange(this.#word, 0, expected, next) === expected;
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number) {
    const cost = this.#ticks(tokens);
    const maxWait = Math.min(Math.round(maxWaitUs * this.#limit.ticksPerMicro), LONGEST_WAIT);
    const wait = (held: bigint) => (cost === 0n ? 0n : cost - held);
    const fits = (held: bigint) => cost <= this.#capTicks && wait(held) <= maxWait;
    this.#last = this.#take(nowUs, (held) => (fits(held) ? cost : 0n));
    if (fits(this.#last.held)) return this.#micros(wait(this.#last.held));
    return cost > this.#capTicks ? NEVER : LATER;
  }
  drain(nowUs: number, tokens: number) {
    const token = this.#ticks(1);
    const whole = (held: bigint) => least(held / token, BigInt(Math.floor(tokens)));
    const taken = this.#take(nowUs, (held) => (held > 0n ? whole(held) * token : 0n));
    return Number(taken.cost / token);
  }
  returnTokens(nowUs: number, tokens: number) {
    const given = this.#ticks(tokens, Math.floor);
    this.#take(nowUs, (held) => -least(given, this.#capTicks - held));
    return false;
  }
  receipt = () => this.#last;
  cancel({ word, cost }: { word: bigint; cost: bigint }) {
    return this.#exchange(word, word - cost);
  }
  schedule = () => this.#limit;
  balance = (nowUs: number) => this.#tokens(this.#take(nowUs, () => 0n).held);
  timeUntil = (nowUs: number, n: number) => this.#until(this.#take(nowUs, () => 0n).held, n);
  decide(nowUs: number, tokens: number) {
    const allowed = this.acquire(nowUs, tokens, 0) === 0;
    const left = this.#last.held - this.#last.cost;
    const balance = this.#tokens(left);
    const retryUs = allowed ? 0 : this.#until(left, tokens);
    const fullUs = this.#until(left, this.#limit.burst);
    const nextUs = this.#until(left, Math.max(0, Math.floor(balance)) + 1);
    return { allowed, burst: this.#limit.burst, balance, retryUs, fullUs, nextUs };
  }
  #until(held: bigint, tokens: number) {
    const wanted = this.#ticks(tokens);
    return wanted > this.#capTicks ? Number.POSITIVE_INFINITY : this.#micros(wanted - held);
  }
  #ticks = (n: number, round = Math.ceil) => ticksOf(n, this.#limit.ticksPerToken, round);
  #tokens = (held: bigint) => Math.min(this.#limit.burst, Number(held) / this.#limit.ticksPerToken);
  #micros = (ticks: bigint) => Math.max(0, Number(ticks) / this.#limit.ticksPerMicro);
}

const least = (a: bigint, b: bigint) => (a < b ? a : b);
