import type { Clock } from '../../../time/clock.ts';
import { BuyingRule, type BuyingTerms } from './buying-rule.ts';
import type { Stock } from './stock.ts';
import type { Supply } from './supply.ts';

/** Jitter as a fraction of the interval, so that the processes' commands don't stay aligned. */
const SPREAD = 0.5;

/** Refills a process's stock, in the thread that created it. */
export class Buyer {
  readonly #stock: Stock;
  readonly #supply: Supply;
  readonly #terms: BuyingTerms;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #rule: BuyingRule;
  #nextCommandUs: number;
  #open: () => void = () => undefined;
  /** Resolves after the first purchase. */
  readonly opened = new Promise<void>((resolve) => {
    this.#open = resolve;
  });
  #ended: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  purchases = 0;
  bought = 0;
  returned = 0;

  constructor(
    stock: Stock,
    supply: Supply,
    terms: BuyingTerms,
    clock: Clock,
    random: () => number,
  ) {
    this.#stock = stock;
    this.#supply = supply;
    this.#terms = terms;
    this.#clock = clock;
    this.#random = random;
    this.#nextCommandUs = clock.now();
    this.#rule = new BuyingRule(terms, this.#nextCommandUs);
  }

  /** Buys until the stock is closed. */
  start(): void {
    this.#ended = this.#run();
  }

  async #run(): Promise<void> {
    const stock = this.#stock;
    while (!stock.isClosed) {
      await this.#restUntil(this.#nextCommandUs);
      if (stock.isClosed) return;
      const isShort = stock.hearShort();
      const held = stock.balance;
      const plan = this.#rule.look(this.#clock.now(), held, isShort);
      if (plan.buy > 0) await this.#buy(plan.buy);
      else if (plan.lapse > 0) await this.#returnOld(plan.lapse);
      else if (plan.isQuiet) await this.#sleep(held, plan.lapseAtUs);
      else await stock.bell.rest(this.#clock, this.#clock.now() + this.#terms.intervalUs);
      this.#open();
    }
  }

  /** A ring ends a rest early, so this rests again until the clock reaches `untilUs`. */
  async #restUntil(untilUs: number): Promise<void> {
    while (this.#clock.now() < untilUs && !this.#stock.isClosed) {
      await this.#stock.bell.rest(this.#clock, untilUs);
    }
  }

  #command(): number {
    const nowUs = this.#clock.now();
    this.#nextCommandUs = nowUs + this.#terms.intervalUs * (1 + SPREAD * this.#random());
    return nowUs;
  }

  async #buy(wanted: number): Promise<void> {
    const askedUs = this.#command();
    const got = await this.#supply.take(wanted);
    this.purchases++;
    this.bought += got;
    // Tokens may have been returned to the stock during the purchase.
    const room = Math.floor(this.#terms.stock - Math.max(0, this.#stock.balance));
    const delivered = this.#stock.isClosed ? 0 : Math.min(got, room);
    if (delivered > 0) this.#stock.deliver(delivered);
    const nowUs = this.#clock.now();
    this.#rule.deliver(nowUs, delivered, nowUs - askedUs);
    if (delivered < got) this.returned += await this.#supply.returnTokens(got - delivered);
  }

  async #returnOld(tooOld: number): Promise<void> {
    this.#command();
    const tokens = this.#stock.bucket.consumeOrDrain(tooOld);
    if (tokens === 0) return; // spent in the meantime
    this.#rule.returnTokens(tokens);
    this.returned += await this.#supply.returnTokens(tokens);
  }

  /** Sleeps until a spend; `held` is the balance that the decision to sleep was based on. */
  async #sleep(held: number, lapseAtUs: number): Promise<void> {
    const { bell } = this.#stock;
    this.#stock.lieDown();
    // A spend after lieDown() rings the bell; one before it has changed the balance.
    if (this.#stock.balance === held) await bell.rest(this.#clock, lapseAtUs);
    this.#stock.getUp();
  }

  /** Closes the stock at once, then returns the unspent tokens to the source. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const left = this.#stock.close() + this.#supply.takeProbed();
    await this.#ended;
    if (left > 0) this.returned += await this.#supply.returnTokens(left);
  }
}
