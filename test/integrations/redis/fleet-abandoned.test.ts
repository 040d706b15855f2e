import { expect, test } from 'vitest';
import { leaveFleet } from '../../../src/host/recovery.ts';
import { Region } from '../../../src/index.ts';
import { openNamedStock } from '../../../src/integrations/redis/fleet/stock.ts';
import type { Reservation } from '../../../src/limiters/reservation.ts';
import { FLEET_CELL, FLEET_MEMBER, FLEET_MEMBER_BYTES } from '../../../src/memory/layout/fleet.ts';
import { addDouble, raiseDouble } from '../../../src/memory/shared-double.ts';
import { part, Random, SEED } from '../../support/random.ts';

const SIZE = 20;
const RUNS = part(400);
const STEPS = 200;
/** Amounts that a stock's ticks count exactly. */
const PARTS = 8;
/** More than a rounding of the stock's clock, less than any amount. */
const NEARLY = 0.01;
/** Entries of other processes. */
const ENTRIES = [0, 5, 6] as const;

type Act = 'wait' | 'cancel' | 'die' | 'deliver' | 'take';

interface Waiting {
  readonly n: number;
  /** The process that waits; 0 if it never ends. */
  readonly entry: number;
  readonly reservation: Reservation;
}

/** A stock, and the sums that its calls must keep. */
class Ledger {
  readonly #region = Region.create();
  readonly #opened = openNamedStock(this.#region, 'hot', { stock: SIZE });
  readonly stock = this.#opened.stock;
  waits: Waiting[] = [];
  delivered = 0;
  spent = 0;

  #note({ n, entry, reservation }: Waiting, sign: 1 | -1): void {
    const { i64 } = this.#region;
    const { offset } = this.#opened.handle;
    const member = offset + FLEET_CELL.members + entry * FLEET_MEMBER_BYTES;
    if (sign > 0) raiseDouble(i64, (member + FLEET_MEMBER.until) >> 3, reservation.atUs);
    addDouble(i64, (member + FLEET_MEMBER.waiting) >> 3, sign * n);
  }

  wait(n: number, entry: number): void {
    const wait = { n, entry, reservation: this.stock.reserve(n) };
    this.#note(wait, 1);
    this.waits.push(wait);
  }

  /** Ends the last wait. */
  cancel(): void {
    const wait = this.waits.at(-1);
    // Behind those of an ended process, it is not the last.
    if (wait === undefined || !wait.reservation.cancel()) return;
    this.waits.pop();
    this.#note(wait, -1);
  }

  die(_: number, entry: number): void {
    if (entry === 0) return;
    const tokens = leaveFleet(this.#region, this.#opened.handle.offset, entry);
    const dead = this.waits.filter((wait) => wait.entry === entry);
    expect(tokens).toBeCloseTo(sumOf(dead), 6);
    this.waits = this.waits.filter((wait) => wait.entry !== entry);
    this.stock.passOn();
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
    for (const wait of this.waits) {
      if (wait.reservation.atUs > nowUs) continue;
      this.spent += wait.n;
      this.#note(wait, -1);
    }
    this.waits = this.waits.filter(({ reservation }) => reservation.atUs > nowUs);
    expect(this.spent).toBeLessThanOrEqual(this.delivered);
    const { balance, abandoned } = this.stock;
    const left = this.delivered - this.spent - sumOf(this.waits);
    // If those in front end too, more may be free at once than the stock holds: the rest lapses.
    if (left > SIZE) this.delivered -= left - SIZE;
    expect(balance + abandoned).toBeCloseTo(Math.min(SIZE, left), 6);
    // Otherwise callers are refused tokens that nobody needs.
    if (abandoned > 0) expect(balance + abandoned).toBeLessThan(0);
  }
}

function sumOf(waits: readonly Waiting[]): number {
  return waits.reduce((sum, { n }) => sum + n, 0);
}

test(`tokens of ended processes are passed on once, never before they arrive (seed ${SEED})`, () => {
  const random = new Random(SEED);
  let most = 0;
  for (let run = 0; run < RUNS; run++) {
    const ledger = new Ledger();
    for (let step = 0; step < STEPS; step++) {
      const n = (1 + random.below(SIZE * PARTS)) / PARTS;
      const act = random.pick<Act>(['wait', 'wait', 'cancel', 'die', 'deliver', 'deliver', 'take']);
      ledger[act](act === 'deliver' ? n / 2 : n, random.pick(ENTRIES));
      ledger.stock.passOn();
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
