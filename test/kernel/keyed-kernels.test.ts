import { expect, test } from 'vitest';
import { Region } from '../../src/index.ts';
import type { Receipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous, perInterval, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import { keyed, siphash } from '../../src/kernel/build/modules.ts';
import type { WhenFull } from '../../src/kernel/constants.ts';
import { createKeyedCell } from '../../src/kernel/keyed/cell.ts';
import { type HostedKeyed, openKeyed } from '../../src/kernel/keyed/host.ts';
import { bytesOf } from '../../src/kernel/open.ts';
import {
  CELL,
  type CellKind,
  ENTRY,
  KEYED,
  keyedBytes,
  SEED_BYTES,
} from '../../src/memory/layout.ts';
import { Random, SEED, SHARE } from '../support/random.ts';
import { randomKeys } from '../support/random-keys.ts';
import { same } from '../support/twins.ts';

const CALLS = 1_000_000 * SHARE;
const CALLS_OF_A_TABLE = 2_000;

/** The same table twice, each with its own kernel. */
class Twins {
  nowUs: number;
  readonly #kernels: readonly [HostedKeyed, HostedKeyed];
  readonly #bytes: readonly [Uint8Array, Uint8Array];
  #receipts: [Receipt, Receipt] | undefined;
  #last = '';

  constructor(random: Random, capacity: number, schedule: Schedule) {
    this.nowUs = random.pick([0, 1e9, random.logarithmic(1, 1e15)]);
    const whenFull = random.pick<WhenFull>(['share', 'refuse', 'admit']);
    const cells = (['atomics', 'wasm'] as const).map((name) => {
      const kind: CellKind = 'keyed-token-bucket';
      const region = Region.create({ bytes: 2 ** 17, plain: name === 'atomics' });
      const { nowUs } = this;
      const made = { kind, schedule, nowUs, capacity, whenFull, stats: true, region };
      const place = createKeyedCell(made);
      region.i32[(place.offset + CELL.nonce) >> 2] = 0; // random
      const bytes = new Uint8Array(region.buffer, place.offset, keyedBytes(2 * capacity));
      bytes.fill(0, KEYED.seed, KEYED.seed + SEED_BYTES);
      return { kernel: openKeyed(place, () => this.nowUs, name), bytes };
    }) as [{ kernel: HostedKeyed; bytes: Uint8Array }, { kernel: HostedKeyed; bytes: Uint8Array }];
    expect(cells.map(({ kernel }) => kernel.name)).toEqual(['atomics', 'wasm']);
    this.#kernels = [cells[0].kernel, cells[1].kernel];
    this.#bytes = [cells[0].bytes, cells[1].bytes];
  }

  both(what: string, call: (kernel: HostedKeyed) => unknown): unknown {
    this.#last = what;
    const [ours, theirs] = this.#kernels.map(call);
    if (!Object.is(ours, theirs)) expect(theirs, what).toEqual(ours);
    return ours;
  }

  acquire(what: string, call: (kernel: HostedKeyed) => number): void {
    const wait = this.both(what, call);
    if (typeof wait !== 'number' || wait < 0) return;
    const [ours, theirs] = this.#kernels;
    this.#receipts = [ours.receipt(), theirs.receipt()];
    // A million calls of toEqual would take a minute.
    if (same(...this.#receipts)) return;
    expect(this.#receipts[1], what).toEqual(this.#receipts[0]);
  }

  cancel(): void {
    const receipts = this.#receipts;
    if (receipts === undefined) return;
    this.both('cancel', (kernel) => kernel.cancel(receipts[kernel === this.#kernels[0] ? 0 : 1]));
  }

  compare(): void {
    const [ours, theirs] = this.#bytes;
    if (Buffer.compare(ours, theirs) === 0) return;
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex').match(/.{16}/g);
    expect(hex(theirs), this.#last).toEqual(hex(ours));
  }

  compareStats(): void {
    this.both('stats', (kernel) => kernel.stats(this.nowUs));
  }
}

test(`${CALLS} random calls leave the same table and get the same answers from both kernels (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let calls = 0; calls < CALLS; calls += CALLS_OF_A_TABLE) {
    const capacity = random.pick([1, 4, 20, 32, 40, 200]);
    const burst = random.pick([1, 5, 0.5, 1000]);
    const rate = random.pick([1, 1000, random.logarithmic(1e-3, 1e6)]);
    const limit = Math.ceil(burst);
    const schedule = random.pick([
      continuous(rate, burst),
      perInterval(limit, (limit / rate) * 1000, limit), // a fixed window
    ]);
    const twins = new Twins(random, capacity, schedule);
    const keys = randomKeys(random, capacity * 3);
    for (let call = 0; call < CALLS_OF_A_TABLE; call++) {
      // Mostly about the time of one token; sometimes a step back or an hour.
      twins.nowUs += random.pick([0, 0, 1e6 / rate / capacity, random.logarithmic(0.01, 10)]);
      if (random.below(100) === 0) twins.nowUs -= random.logarithmic(1, 1e9);
      if (random.below(400) === 0) twins.nowUs += random.logarithmic(1e9, 1e13);
      const { nowUs } = twins;
      const [high, low] = keys[random.below(keys.length)] ?? [0, 0];
      const n = random.pick([0, 1, 1, 2, burst, random.logarithmic(burst / 100, burst * 2)]);
      const maxWaitUs = random.pick([0, 0, Number.POSITIVE_INFINITY, random.logarithmic(1, 1e9)]);
      const what = `n = ${n}, maxWaitUs = ${maxWaitUs}, now = ${nowUs}, key = ${high} ${low}`;
      twins.both(`seek ${what}`, (kernel) => kernel.seek(high, low));
      const way = random.below(14);
      if (way === 0) twins.both(`drain ${what}`, (kernel) => kernel.drain(nowUs, n));
      else if (way === 1) twins.both(`refund ${what}`, (kernel) => kernel.returnTokens(nowUs, n));
      else if (way === 2) twins.both(`balance ${what}`, (kernel) => kernel.balance(nowUs));
      else if (way === 3) twins.both(`until ${what}`, (kernel) => kernel.timeUntil(nowUs, n));
      else if (way === 4) {
        const answer = (kernel: HostedKeyed) => JSON.stringify(kernel.decide(nowUs, n));
        twins.both(`decide ${what}`, answer);
      } else if (way === 5) twins.cancel();
      else if (way === 6) twins.both(`charge ${what}`, (kernel) => kernel.charge(nowUs, n));
      else if (way === 7) twins.both(`block ${what}`, (kernel) => kernel.block(nowUs, 1e6 * n));
      else twins.acquire(`acquire ${what}`, (kernel) => kernel.acquire(nowUs, n, maxWaitUs));
      twins.compare();
    }
    twins.compareStats();
  }
});

test('the modules of keys are smaller than 13 KiB', () => {
  const bytes = [keyed.wasm(), siphash.wasm()].map((binary) => bytesOf(binary).length);
  expect(Math.max(...bytes)).toBeLessThan(13 * 1024);
});

test('a damaged entry is an error with either kernel, even if only its tag does not match its version', () => {
  const damaged = expect.objectContaining({
    name: 'HandleError',
    code: 'ERR_REGION_DAMAGED',
    message: 'the clock, an entry or a limit is invalid',
  });
  for (const name of ['atomics', 'wasm'] as const) {
    const region = Region.create();
    const schedule = continuous(1, 1);
    const kind = 'keyed-token-bucket';
    const made = {
      kind,
      schedule,
      nowUs: 0,
      capacity: 4,
      whenFull: 'share',
      stats: false,
    } as const;
    const place = createKeyedCell({ ...made, region });
    const kernel = openKeyed(place, () => 0, name);
    region.i64.fill(8n, (place.offset + KEYED.table) >> 3, (place.offset + keyedBytes(8)) >> 3);
    kernel.seek(1, 2);
    expect(() => kernel.acquire(0, 1, 0)).toThrow(damaged);
    region.i64.fill(0n, (place.offset + KEYED.table) >> 3, (place.offset + keyedBytes(8)) >> 3);
    kernel.acquire(0, 1, 0);
    const { entry } = kernel.receipt() as Receipt & { entry: number };
    region.i64[entry + ENTRY.state] = (region.i64[entry + ENTRY.state] ?? 0n) ^ 2n;
    expect(() => kernel.acquire(0, 1, 0)).toThrow(damaged);
  }
});
