import { expect, test } from 'vitest';
import { Stock } from '../../../src/integrations/redis/fleet/stock.ts';
import type { Reservation } from '../../../src/limiters/reservation.ts';
import { part, Random, SEED } from '../../support/random.ts';

const SIZE = 20;
const RUNS = part(400);
const STEPS = 200;
/** Amounts that a stock's ticks count exactly. */
const PARTS = 8;
/** More than a rounding of the stock's clock, less than any amount. */
const NEARLY = 0.01;

type Act = 'wait' | 'abandon' | 'deliver' | 'take';

/** A stock, and the sums that its calls must keep. */
class Ledger {
  readonly stock = Stock.create(SIZE, {});
  readonly waits: { readonly n: number; readonly reservation: Reservation }[] = [];
  delivered = 0;
  spent = 0;

  wait(n: number): void {
    this.waits.push({ n, reservation: this.stock.reserve(n) });
  }

  abandon(index: number): void {
    for (const { n, reservation } of this.waits.splice(index, 1))
      this.stock.abandon(reservation, n);
  }

  deliver(n: number): void {
    const room = SIZE - Math.max(0, this.stock.balance);
    this.delivered += Math.min(n, room);
    this.stock.deliver(Math.min(n, room));
  }

  take(n: number): void {
    if (this.stock.take(n)) this.spent += n;
  }

  /** Serves the waits whose tokens have arrived, and compares all sums. */
  check(): void {
    const nowUs = this.stock.bucket.clock.now() + NEARLY;
    for (const wait of [...this.waits]) {
      if (wait.reservation.atUs > nowUs) continue;
      this.waits.splice(this.waits.indexOf(wait), 1);
      this.spent += wait.n;
    }
    expect(this.spent).toBeLessThanOrEqual(this.delivered);
    const owed = this.waits.reduce((sum, { n }) => sum + n, 0);
    const { balance, abandoned } = this.stock;
    expect(balance + abandoned).toBeCloseTo(this.delivered - this.spent - owed, 6);
  }
}

test(`abandoned tokens are passed on once, and never before they arrive (seed ${SEED})`, () => {
  const random = new Random(SEED);
  let most = 0;
  for (let run = 0; run < RUNS; run++) {
    const ledger = new Ledger();
    for (let step = 0; step < STEPS; step++) {
      const n = (1 + random.below(SIZE * PARTS)) / PARTS;
      const act = random.pick<Act>(['wait', 'wait', 'abandon', 'deliver', 'deliver', 'take']);
      if (act === 'abandon') ledger.abandon(random.below(ledger.waits.length));
      else ledger[act](act === 'deliver' ? n / 2 : n);
      ledger.check();
      most = Math.max(most, ledger.stock.abandoned);
    }
    for (let i = 0; i < STEPS * SIZE && ledger.waits.length > 0; i++) {
      ledger.deliver(1);
      ledger.check();
    }
    expect(ledger.waits).toEqual([]);
    expect(ledger.stock.abandoned).toBe(0);
    expect(ledger.stock.balance).toBeGreaterThanOrEqual(0);
  }
  // Otherwise nothing was passed on later than it was abandoned.
  expect(most).toBeGreaterThan(SIZE);
});
