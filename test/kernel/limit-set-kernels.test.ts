import { expect, test } from 'vitest';
import { Region } from '../../src/index.ts';
import type { Place } from '../../src/kernel/bucket/kernel.ts';
import { continuous, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import type { Limits } from '../../src/kernel/keyed/table-cell.ts';
import { createLimitSetCell, limitSets } from '../../src/kernel/limit-set/cell.ts';
import { HostedLimitSet } from '../../src/kernel/limit-set/host.ts';
import { toNumber } from '../oracle/calls.ts';
import { LimitSetOracle, type Promised, type RateLimit } from '../oracle/limit-set.ts';
import { Random, SEED, SHARE } from '../support/random.ts';
import { Twins } from '../support/twins.ts';

const CALLS = 100_000 * SHARE;
const CALLS_OF_A_BUCKET = 1_000;
/** A token at each rate is a whole number of ticks at the others, so nothing is rounded. */
const RATES = [125, 250, 500, 1000, 2000, 4000, 8000, 16_000] as const;
/** A whole number of ticks, and of 1/256 token at the lowest rate. */
const STEP_US = 31.25;
const DAY_US = 86_400e6;

function randomLimit(random: Random): RateLimit {
  return { rate: random.pick(RATES), burst: 1 + random.below(20) };
}

interface Held {
  readonly receipts: readonly [object, object];
  readonly positions: readonly [Place, Place] | undefined;
  readonly promised: Promised;
}

/** The same bucket twice, and the reference. */
class Walk extends Twins<HostedLimitSet> {
  readonly #random: Random;
  readonly #reference: LimitSetOracle;
  readonly #held: Held[] = [];
  #nowUs: number;
  #limits: readonly RateLimit[];

  constructor(random: Random) {
    const limits = Array.from({ length: 1 + random.below(8) }, () => randomLimit(random));
    const nowUs = random.below(1e6) * STEP_US;
    const most = Math.min(...limits.map(({ burst }) => burst));
    const initial = random.below(most + 1);
    const cell = (plain: boolean) =>
      createLimitSetCell({
        schedules: limits.map(({ rate, burst }) => continuous(rate, burst)),
        ...{ nowUs, initial: limits.map(() => initial), stats: false },
        region: Region.create({ plain }),
      });
    super(
      cell,
      (place, kernel) => new HostedLimitSet(limitSets.openShared(place.region, kernel), place),
    );
    this.#random = random;
    this.#nowUs = nowUs;
    this.#limits = limits;
    this.#reference = new LimitSetOracle(limits, initial, () => this.#nowUs);
  }

  #same(what: string, answer: unknown, expected: unknown): void {
    if (!Object.is(answer, expected)) {
      expect(answer, `${what} at ${this.#nowUs} of ${JSON.stringify(this.#limits)}`).toBe(expected);
    }
  }

  #move(): void {
    const random = this.#random;
    this.#nowUs += random.pick([0, 0, 1, random.below(64), random.below(2048)]) * STEP_US;
    if (random.below(20) === 0) this.#nowUs -= random.below(4096) * STEP_US;
    if (random.below(300) === 0) this.#nowUs += 13 * DAY_US;
  }

  #take(n: number): void {
    const reference = this.#reference;
    const maxWaitUs = this.#random.pick([0, 0, 3125, Infinity]);
    const ours = this.both('acquire', (kernel) => kernel.acquire(this.#nowUs, n, maxWaitUs));
    const promised = reference.acquire(n, maxWaitUs);
    const waitUs = reference.waitOf(promised, n);
    this.#same(`acquire ${n}`, ours, waitUs);
    if (promised === undefined) return;
    const [a, b] = this.kernels;
    const dueUs = this.#nowUs + waitUs;
    this.#held.push({
      receipts: [a.receipt(), b.receipt()],
      positions: waitUs > 0 ? [a.position(dueUs), b.position(dueUs)] : undefined,
      promised,
    });
  }

  #cancel(): void {
    const held = this.#held.splice(-1 - this.#random.below(3))[0];
    if (held === undefined) return;
    const ours = this.both('cancel', (kernel, twin) =>
      kernel.cancel(held.receipts[twin] as Parameters<HostedLimitSet['cancel']>[0]),
    );
    this.#same('cancel', ours, held.promised.cancel());
  }

  /** After every change, so that the positions see each of them. */
  #checkDue(): void {
    for (const { positions, promised } of this.#held) {
      if (positions === undefined) continue;
      for (const position of positions) {
        this.#same('dueUs', position.dueUs(), toNumber(promised.dueUs));
      }
    }
  }

  #reconfigure(): void {
    const random = this.#random;
    this.#limits = this.#limits.map((limit) =>
      random.below(2) === 0 ? limit : randomLimit(random),
    );
    const next = this.#limits.map(({ rate, burst }) => continuous(rate, burst));
    this.both('reconfigure', (kernel) =>
      kernel.reconfigure(
        () => this.#nowUs,
        () => next as unknown as Limits<Schedule>,
      ),
    );
    this.#reference.reconfigure(this.#limits);
  }

  #decide(n: number): void {
    const reference = this.#reference;
    const ours = this.both('decide', (kernel) => kernel.decide(this.#nowUs, n));
    const { allowed, balance, retryUs, fullUs, limits } = ours as ReturnType<
      HostedLimitSet['decide']
    >;
    const expected = reference.decide(n);
    this.#same('allowed', allowed, expected.allowed);
    this.#same('balance', balance, expected.balance);
    this.#same('retryUs', retryUs, expected.retryUs);
    this.#same('fullUs', fullUs, expected.fullUs);
    const full = reference.fullsUs().map(toNumber);
    const balances = reference.balances();
    for (const [i, limit] of (limits ?? []).entries()) {
      this.#same('burst of a limit', limit.burst, reference.limits[i]?.burst);
      this.#same('balance of a limit', limit.balance, balances[i]?.toNumber());
      this.#same('fullUs of a limit', limit.fullUs, full[i]);
    }
    expect(limits).toHaveLength(this.#limits.length);
  }

  get isExact(): boolean {
    return this.#reference.isExact;
  }

  /** Deciding about no tokens is a look at every limit. */
  checkState(what: string): void {
    const ours = this.both('look', (kernel) => kernel.decide(this.#nowUs, 0));
    const { limits } = ours as ReturnType<HostedLimitSet['decide']>;
    const balances = this.#reference.balances();
    for (const [i, { balance }] of (limits ?? []).entries()) {
      this.#same(`limit ${i} after ${what}`, balance, balances[i]?.toNumber());
    }
  }

  step(): unknown {
    const random = this.#random;
    const reference = this.#reference;
    this.#move();
    const nowUs = this.#nowUs;
    const n = random.pick([0, 1, 1, 2, 0.25, random.below(24)]);
    switch (random.below(14)) {
      case 0:
        return this.#decide(n);
      case 1: {
        const ours = this.both('drain', (kernel) => kernel.drain(nowUs, n));
        return this.#same('drain', ours, reference.drain(n));
      }
      case 2:
        this.both('return', (kernel) => kernel.returnTokens(nowUs, n));
        reference.putBack(n);
        return this.#checkDue();
      case 3: {
        const ours = this.both('timeUntil', (kernel) => kernel.timeUntil(nowUs, n));
        return this.#same('timeUntil', ours, toNumber(reference.waitUs(n)));
      }
      case 4: {
        const ours = this.both('balance', (kernel) => kernel.balance(nowUs));
        return this.#same('balance', ours, reference.balance().toNumber());
      }
      case 5:
        return this.#cancel();
      case 6:
        if (random.below(3) > 0) return;
        this.#reconfigure();
        return this.isExact && this.#checkDue();
      case 7: {
        const ours = this.both('charge', (kernel) => kernel.charge(nowUs, n));
        return this.#same('charge', ours, reference.charge(n));
      }
      default:
        return this.#take(n);
    }
  }
}

test(`${CALLS} random calls get the answers of the reference, and leave the same memory, with both kernels (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let calls = 0; calls < CALLS; calls += CALLS_OF_A_BUCKET) {
    const walk = new Walk(random);
    for (let call = 0; call < CALLS_OF_A_BUCKET; call++) {
      walk.step();
      // Changes at high rates leave instants that doubles don't hold.
      if (!walk.isExact) break;
      walk.checkState(walk.last);
      walk.compareMemory();
    }
  }
});
