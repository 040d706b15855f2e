import { checkFunction, checkNumber } from '../../../options.ts';
import type { Clock } from '../../../time/clock.ts';
import { BuyingRule } from './buying-rule.ts';
import { Purchases } from './purchases.ts';
import type { Stock } from './stock.ts';
import type { TokenSource } from './token-source.ts';

/** Jitter as a fraction of the interval, so that the commands of processes don't align. */
const SPREAD = 0.5;

/** Refills a process's stock from this thread while the thread is its leader. */
export class Buyer {
  readonly purchases: Purchases;
  readonly #stock: Stock;
  readonly #intervalUs: number;
  readonly #clock: Clock;
  readonly #random: () => number;
  /** The latest epoch of this thread. */
  #epoch = Number.NaN;
  #nextCommandUs = 0;
  #ended: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;
  /** Called when the event fires while this thread is not the leader. */
  onOut: () => void = () => undefined;
  /** The error that ended the buying, if any. */
  failure: { readonly reason: unknown } | undefined;
  #hasStoodDown = false;
  #stopListening: () => void = () => undefined;

  /** @param random returns numbers from 0 to 1 */
  constructor(stock: Stock, source: TokenSource, clock: Clock, random: () => number) {
    this.purchases = new Purchases(source, clock, stock.terms, stock.counts);
    this.purchases.onTurn = () => this.#tellReachable();
    this.#stock = stock;
    this.#intervalUs = stock.terms.intervalMs * 1000;
    this.#clock = clock;
    this.#random = checkFunction('random', random);
  }

  /**
   * Starts buying if the stock has no leader, otherwise stands by. A buyer's call resolves after its
   * first purchase, or when it is no longer the leader; rejects if the purchase throws.
   */
  async open(): Promise<void> {
    const { leader } = this.#stock;
    // The last buyer may have been killed together with all others.
    const last = leader.epoch;
    if (leader.doesBuyerRun === false) leader.vacate(last);
    await new Promise<void>((resolve) => this.stand(resolve));
    if (this.failure !== undefined) throw this.failure.reason;
  }

  get isLeader(): boolean {
    return this.#stock.leader.isHeldBy(this.#epoch);
  }

  /**
   * Starts to give signs of life and to become the leader whenever there is none. Calls `onOpen` after
   * the first purchase, or when this thread is not the leader.
   */
  stand(onOpen: () => void = () => undefined): void {
    const { leader } = this.#stock;
    // Observe the event before reading the state, so that no change is missed.
    const event = leader.event.observe();
    if (this.#stock.isClosed) {
      // Another thread closed it, or this one its region.
      this.purchases.close();
      this.onOut();
      onOpen();
      return;
    }
    if (leader.isHeldBy(this.#epoch)) {
      leader.beat();
      // The event fires when a process has ended, and a purchase may take long.
      this.#stock.passOn();
    } else {
      const epoch = this.#hasStoodDown ? undefined : leader.claim();
      if (epoch !== undefined) this.#serve(epoch, onOpen);
      else {
        this.onOut();
        onOpen();
      }
    }
    this.#stopListening = leader.event.listen(event, () => this.stand());
  }

  #tellReachable(): void {
    if (this.isLeader) this.#stock.counts.isReachable = this.purchases.isReachable;
  }

  /** Stops being the leader for good. Resolves when queued purchases have been returned. */
  async standDown(): Promise<void> {
    this.#hasStoodDown = true;
    this.#stock.members?.leave();
    this.#stock.leader.resign(this.#epoch);
    this.purchases.close();
    await this.#ended;
  }

  #serve(epoch: number, onPurchase: () => void): void {
    this.#epoch = epoch;
    this.purchases.begin();
    this.#tellReachable();
    this.#nextCommandUs = this.#clock.now();
    const rule = new BuyingRule(this.#stock.terms, this.#nextCommandUs);
    const served = this.#run(epoch, rule, onPurchase)
      .catch((reason: unknown) => this.#fail(reason))
      .then(() => {
        // Another thread may have ended the epoch before the first purchase.
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

  /** Returns the tokens of a probe, including one in progress at the end of the epoch. */
  async #returnProbed(): Promise<void> {
    await this.purchases.probing;
    await this.#giveBack(this.purchases.takeProbed());
  }

  async #run(epoch: number, rule: BuyingRule, onPurchase: () => void): Promise<void> {
    const stock = this.#stock;
    const { leader } = stock;
    while (leader.isHeldBy(epoch)) {
      await this.#restUntil(this.#nextCommandUs, epoch);
      if (!leader.isHeldBy(epoch)) return;
      const isShort = stock.hearShort();
      // Those of a process that has ended.
      stock.passOn();
      const balance = stock.balance;
      const plan = rule.look(this.#clock.now(), balance + stock.abandoned, isShort);
      if (plan.buy > 0) await this.#buy(plan.buy, epoch, rule);
      else if (plan.lapse > 0) await this.#returnOld(plan.lapse, rule);
      else if (plan.isQuiet) await this.#sleep(balance, plan.lapseAtUs, epoch);
      else await leader.event.rest(this.#clock, this.#clock.now() + this.#intervalUs);
      onPurchase();
    }
  }

  /** Rests until the clock reaches `untilUs`, again after each event. */
  async #restUntil(untilUs: number, epoch: number): Promise<void> {
    const { leader } = this.#stock;
    while (this.#clock.now() < untilUs && leader.isHeldBy(epoch)) {
      await leader.event.rest(this.#clock, untilUs);
    }
  }

  #command(): number {
    const drawn = checkNumber('random()', this.#random(), { min: 0, max: 1 });
    // Queued purchases are served one after the other anyway.
    const jitter = this.purchases.isQueueing ? 0 : SPREAD * drawn;
    const nowUs = this.#clock.now();
    this.#nextCommandUs = nowUs + this.#intervalUs * (1 + jitter);
    return nowUs;
  }

  async #buy(wanted: number, epoch: number, rule: BuyingRule): Promise<void> {
    const askedUs = this.#command();
    const got = await this.purchases.take(wanted);
    this.#stock.counts.add('purchases', 1);
    this.#stock.counts.add('bought', got);
    // Callers may have returned tokens to the stock during the purchase.
    const room = Math.floor(this.#stock.terms.stock - Math.max(0, this.#stock.balance));
    // A successor buys for the whole stock: a late delivery would exceed it.
    const delivered = this.#stock.leader.isHeldBy(epoch) ? Math.min(got, room) : 0;
    if (delivered > 0) this.#stock.deliver(delivered);
    const nowUs = this.#clock.now();
    rule.deliver(nowUs, delivered, nowUs - askedUs);
    await this.#giveBack(got - delivered);
  }

  async #giveBack(tokens: number): Promise<void> {
    if (tokens > 0) this.#stock.counts.add('returned', await this.purchases.returnTokens(tokens));
  }

  async #returnOld(tooOld: number, rule: BuyingRule): Promise<void> {
    this.#command();
    const tokens = this.#stock.bucket.consumeOrDrain(tooOld);
    rule.returnTokens(tokens);
    await this.#giveBack(tokens);
  }

  /** Sleeps until a spend. `held` is the balance on which the decision to sleep was based. */
  async #sleep(held: number, lapseAtUs: number, epoch: number): Promise<void> {
    const { leader } = this.#stock;
    leader.lieDown(epoch);
    // A spend after lieDown() fires the event; an earlier one has changed the balance.
    if (this.#stock.balance === held) await leader.event.rest(this.#clock, lapseAtUs);
    leader.getUp(epoch);
  }

  /**
   * Closes the stock immediately, then returns the unspent tokens to the source. A stock with a name
   * stays open for other processes; the last one to close it returns the tokens.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const left = this.#stock.hasName ? 0 : this.#stock.close();
    this.#stopListening();
    await this.standDown();
    await this.#giveBack(left + this.#stock.takeLeft());
    if (this.failure !== undefined) throw this.failure.reason;
  }
}
