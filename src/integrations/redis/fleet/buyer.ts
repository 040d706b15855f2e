import { checkNumber, shown } from '../../../options.ts';
import type { Clock } from '../../../time/clock.ts';
import type { TokenSource } from '../token-source.ts';
import { BuyingRule } from './buying-rule.ts';
import type { Stock } from './stock.ts';
import { Supply } from './supply.ts';
import type { FleetTerms } from './terms.ts';

/** Jitter as a fraction of the interval, so that the commands of processes don't align. */
const SPREAD = 0.5;

/** @throws TypeError if it is not a function. */
export function checkRandom(random: () => number): () => number {
  if (typeof random === 'function') return random;
  throw new TypeError(`random must be a function, got ${shown(random)}`);
}

/** The parts of a buyer. */
export interface BuyerParts {
  readonly stock: Stock;
  readonly source: TokenSource;
  readonly terms: FleetTerms;
  readonly clock: Clock;
  readonly random: () => number;
}

/** Refills a process's stock from this thread while the thread holds the office of the buyer. */
export class Buyer {
  readonly supply: Supply;
  readonly #stock: Stock;
  readonly #terms: FleetTerms;
  readonly #clock: Clock;
  readonly #random: () => number;
  /** The latest tenure of this thread. */
  #tenure = Number.NaN;
  #nextCommandUs = 0;
  #ended: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;
  /** Called when the bell rings while this thread is not in office. */
  onOut: () => void = () => undefined;
  /** The error that ended the buying, if any. */
  failure: { readonly reason: unknown } | undefined;
  #hasStoodDown = false;
  #stopListening: () => void = () => undefined;

  constructor({ stock, source, terms, clock, random }: BuyerParts) {
    this.supply = new Supply(source, clock, terms, stock.counts);
    this.supply.onTurn = () => this.#tellReachable();
    this.#stock = stock;
    this.#terms = terms;
    this.#clock = clock;
    this.#random = checkRandom(random);
  }

  /**
   * Starts buying if the office is vacant, otherwise stands by. A buyer's call resolves after its
   * first purchase, or when it has lost the office; rejects if the purchase throws.
   */
  async open(): Promise<void> {
    const { office } = this.#stock;
    // The last buyer may have been killed together with all others.
    const last = office.tenure;
    if (office.doesBuyerRun === false) office.vacate(last);
    const tenure = office.assume();
    const opened = new Promise<void>((resolve) => {
      if (tenure === undefined) resolve();
      else this.#serve(tenure, resolve);
    });
    this.stand();
    await opened;
    if (this.failure !== undefined) throw this.failure.reason;
  }

  /** Whether this thread buys. */
  get isInOffice(): boolean {
    return this.#stock.office.isHeldBy(this.#tenure);
  }

  /** Starts to give signs of life and to take the office whenever it is vacant. */
  stand(): void {
    const { office } = this.#stock;
    // Get the alarm before reading the state, so that no ring is missed.
    const alarm = office.bell.alarm();
    if (this.#stock.isClosed) {
      // Another thread closed it, or this one its region.
      this.supply.close();
      this.onOut();
      return;
    }
    if (office.isHeldBy(this.#tenure)) {
      office.beat();
      // The bell rings when a process has ended, and a purchase may take long.
      this.#stock.passOn();
    } else {
      const tenure = this.#hasStoodDown ? undefined : office.assume();
      if (tenure === undefined) this.onOut();
      else this.#serve(tenure, () => undefined);
    }
    this.#stopListening = office.bell.onRing(alarm, () => this.stand());
  }

  #tellReachable(): void {
    if (this.isInOffice) this.#stock.counts.isReachable = this.supply.isReachable;
  }

  /** Leaves the office for good. Resolves when tokens on order have been returned. */
  async standDown(): Promise<void> {
    this.#hasStoodDown = true;
    this.#stock.members?.leave();
    this.#stock.office.resign(this.#tenure);
    this.supply.close();
    await this.#ended;
  }

  #serve(tenure: number, onPurchase: () => void): void {
    this.#tenure = tenure;
    this.supply.begin();
    this.#tellReachable();
    this.#nextCommandUs = this.#clock.now();
    const rule = new BuyingRule(this.#terms, this.#nextCommandUs);
    const served = this.#run(tenure, rule, onPurchase)
      .catch((reason: unknown) => this.#fail(reason))
      .then(() => {
        // Another thread may have ended the tenure before the first purchase.
        onPurchase();
        return this.#returnProbed();
      });
    this.#ended = Promise.all([this.#ended, served]);
  }

  #fail(reason: unknown): void {
    this.failure ??= { reason };
    // Other processes keep using a stock with a name.
    if (this.#stock.hasName) void this.standDown();
    else void this.close().catch(() => undefined);
  }

  /** Returns the tokens of a probe, including one in progress at the end of the tenure. */
  async #returnProbed(): Promise<void> {
    await this.supply.probing;
    const probed = this.supply.takeProbed();
    if (probed > 0) await this.#giveBack(probed);
  }

  async #run(tenure: number, rule: BuyingRule, onPurchase: () => void): Promise<void> {
    const stock = this.#stock;
    const { office } = stock;
    while (office.isHeldBy(tenure)) {
      await this.#restUntil(this.#nextCommandUs, tenure);
      if (!office.isHeldBy(tenure)) return;
      const isShort = stock.hearShort();
      // Those of a process that has ended.
      stock.passOn();
      const balance = stock.balance;
      const plan = rule.look(this.#clock.now(), balance + stock.abandoned, isShort);
      if (plan.buy > 0) await this.#buy(plan.buy, tenure, rule);
      else if (plan.lapse > 0) await this.#returnOld(plan.lapse, rule);
      else if (plan.isQuiet) await this.#sleep(balance, plan.lapseAtUs, tenure);
      else await office.bell.rest(this.#clock, this.#clock.now() + this.#terms.intervalUs);
      onPurchase();
    }
  }

  /** Rests until the clock reaches `untilUs`, again after each ring. */
  async #restUntil(untilUs: number, tenure: number): Promise<void> {
    const { office } = this.#stock;
    while (this.#clock.now() < untilUs && office.isHeldBy(tenure)) {
      await office.bell.rest(this.#clock, untilUs);
    }
  }

  #command(): number {
    const drawn = checkNumber('random()', this.#random(), { min: 0, max: 1 });
    // Queued orders are served one after the other anyway.
    const jitter = this.supply.isQueueing ? 0 : SPREAD * drawn;
    const nowUs = this.#clock.now();
    this.#nextCommandUs = nowUs + this.#terms.intervalUs * (1 + jitter);
    return nowUs;
  }

  async #buy(wanted: number, tenure: number, rule: BuyingRule): Promise<void> {
    const askedUs = this.#command();
    const got = await this.supply.take(wanted);
    this.#stock.counts.add('purchases', 1);
    this.#stock.counts.add('bought', got);
    // Callers may have returned tokens to the stock during the purchase.
    const room = Math.floor(this.#terms.stock - Math.max(0, this.#stock.balance));
    // A successor buys for the whole stock: a late delivery would exceed it.
    const delivered = this.#stock.office.isHeldBy(tenure) ? Math.min(got, room) : 0;
    if (delivered > 0) this.#stock.deliver(delivered);
    const nowUs = this.#clock.now();
    rule.deliver(nowUs, delivered, nowUs - askedUs);
    if (delivered < got) await this.#giveBack(got - delivered);
  }

  async #giveBack(tokens: number): Promise<void> {
    this.#stock.counts.add('returned', await this.supply.returnTokens(tokens));
  }

  async #returnOld(tooOld: number, rule: BuyingRule): Promise<void> {
    this.#command();
    const tokens = this.#stock.bucket.consumeOrDrain(tooOld);
    if (tokens === 0) return; // spent in the meantime
    rule.returnTokens(tokens);
    await this.#giveBack(tokens);
  }

  /** Sleeps until a spend. `held` is the balance on which the decision to sleep was based. */
  async #sleep(held: number, lapseAtUs: number, tenure: number): Promise<void> {
    const { office } = this.#stock;
    office.lieDown(tenure);
    // A spend after lieDown() rings the bell; an earlier one has changed the balance.
    if (this.#stock.balance === held) await office.bell.rest(this.#clock, lapseAtUs);
    office.getUp(tenure);
  }

  /**
   * Closes the stock immediately, then returns the unspent tokens to the source. A stock with a name
   * stays open for other processes; the last one to close it returns the tokens.
   */
  close(): Promise<void> {
    this.#closed ??= this.#stock.hasName ? this.#leave() : this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const left = this.#stock.close();
    this.supply.close();
    await this.#ended;
    await this.#return(left);
  }

  async #leave(): Promise<void> {
    this.#stopListening();
    await this.standDown();
    await this.#return(this.#stock.takeLeft());
  }

  async #return(left: number): Promise<void> {
    if (left > 0) await this.#giveBack(left);
    if (this.failure !== undefined) throw this.failure.reason;
  }
}
