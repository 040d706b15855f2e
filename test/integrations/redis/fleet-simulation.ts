import { mostBeyondRate, type Spend } from '../../../bench/spend-log.ts';
import { ManualClock, TokenBucket } from '../../../src/index.ts';
import {
  FleetBucket,
  type FleetSpender,
  type TokenSource,
  type TokenWait,
} from '../../../src/integrations/redis.ts';
import type { Random } from '../../support/random.ts';
import { settled } from '../../support/settled.ts';

/** Clock step. */
const STEP_MS = 5;
/** Round trip between two machines. */
const TRIP_MS = 5;

/** The processes of one level, each of which buys from a process of the level above. */
export interface Level {
  readonly processes: number;
  readonly stock: number;
  readonly intervalMs: number;
}

/** A limit, and the fleet that spends it. */
export interface Simulation {
  readonly rate: number;
  readonly burst: number;
  /** From the server down; the processes of the last level spend. */
  readonly levels: readonly Level[];
  /** The demand of all machines together, in tokens per second. */
  readonly demand: number;
  /** How much more than the average, or less, a machine may ask for, as a fraction of that. */
  readonly spread: number;
  /** Duration of the measurement, and of the time before it in which the stocks adapt. */
  readonly lengthMs: number;
}

/** The result of a simulation. */
export interface Simulated {
  /** Tokens spent, relative to those that arrived. */
  readonly share: number;
  /** Tokens spent, relative to those requested. */
  readonly served: number;
  /** Commands sent to the server. */
  readonly commandsPerSecond: number;
  /** The most tokens in stock or in transit at any instant. */
  readonly outstanding: number;
  /** The largest excess of any interval over the rate times its length. */
  readonly beyondRate: number;
  /** The smallest and largest fraction of its requests that a machine got. */
  readonly fairness: readonly [number, number];
  /** The smallest and largest fraction of an even share: of machines in a rack, and of racks. */
  readonly evenness: readonly [number, number];
}

/** A source across a network, which counts its commands. */
type Near = Pick<FleetSpender, 'consumeOrDrain' | 'returnTokens' | 'wait'>;

class Remote implements TokenSource {
  commands = 0;
  /** Tokens handed out and not returned. */
  out = 0;
  readonly #near: Near;
  readonly #clock: ManualClock;

  constructor(near: Near, clock: ManualClock) {
    this.#near = near;
    this.#clock = clock;
  }

  async consumeOrDrain(n: number): Promise<number> {
    this.commands++;
    const taken = this.#near.consumeOrDrain(n);
    this.out += taken;
    await this.#clock.sleep(this.#clock.now() + TRIP_MS * 1000);
    return taken;
  }

  async wait(n: number, options: TokenWait): Promise<void> {
    this.commands++;
    await this.#near.wait(n, options);
    this.out += n;
    await this.#clock.sleep(this.#clock.now() + TRIP_MS * 1000);
  }

  async returnTokens(n: number): Promise<void> {
    this.commands++;
    this.out -= n;
    this.#near.returnTokens(n);
  }
}

/** Requests a steady number of tokens per millisecond, without retrying what it did not get. */
class Machine {
  asked = 0;
  spent = 0;
  readonly #bucket: FleetBucket;
  readonly #perMs: number;
  #owed = 0;

  constructor(bucket: FleetBucket, perMs: number) {
    this.#bucket = bucket;
    this.#perMs = perMs;
  }

  spend(ms: number): number {
    this.#owed += this.#perMs * ms;
    const wanted = Math.floor(this.#owed);
    this.#owed -= wanted;
    const got = this.#bucket.consumeOrDrain(wanted);
    this.asked += wanted;
    this.spent += got;
    return got;
  }
}

/** What was asked for, and spent. */
type Spender = Pick<Machine, 'asked' | 'spent'>;

function sumOf(machines: readonly Machine[]): Spender {
  return {
    asked: machines.reduce((total, { asked }) => total + asked, 0),
    spent: machines.reduce((total, { spent }) => total + spent, 0),
  };
}

/** The spending of each, as a fraction of an even share. */
function partsOfEven(spenders: readonly Spender[]): number[] {
  const spent = spenders.reduce((total, spender) => total + spender.spent, 0);
  const most = evenShare(
    spenders.map(({ asked }) => asked),
    spent,
  );
  return spenders.map((spender) => spender.spent / Math.min(most, spender.asked));
}

/** The most that each gets, if small demands are met in full and the others get equal shares. */
function evenShare(asked: readonly number[], tokens: number): number {
  let left = tokens;
  const ascending = [...asked].sort((a, b) => a - b);
  for (const [i, wanted] of ascending.entries()) {
    const share = left / (ascending.length - i);
    if (wanted > share) return share;
    left -= wanted;
  }
  return Number.POSITIVE_INFINITY;
}

/** Real fleet buckets, one per machine, on one manual clock. */
export async function simulate(simulation: Simulation, random: Random): Promise<Simulated> {
  const { rate, burst, levels, demand, spread, lengthMs } = simulation;
  const clock = ManualClock.create();
  const source = TokenBucket.create({ rate, burst, clock });
  const server = new Remote(source, clock);
  const all: FleetBucket[] = [];
  let above: Remote[] = [server];
  let last: FleetBucket[] = [];
  for (const { processes, stock, intervalMs } of levels) {
    const joining = Array.from({ length: processes }, (_, i) =>
      FleetBucket.create({
        source: above[i % above.length] as Remote, // never empty
        stock,
        intervalMs,
        clock,
        random: () => random.bits() / 2 ** 32,
      }),
    );
    await settled(4);
    clock.advance(TRIP_MS);
    last = await Promise.all(joining);
    all.push(...last);
    above = last.map((bucket) => new Remote(bucket, clock));
  }
  const weights = last.map(() => 1 + spread * (random.bits() / 2 ** 31 - 1));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const machines = last.map(
    (bucket, i) => new Machine(bucket, (demand / 1000) * ((weights[i] ?? 0) / sum)),
  );

  const spends: Spend[] = [];
  let outstanding = 0;
  let commands = 0;
  let spent = 0;
  for (let ms = 0; ms < 2 * lengthMs; ms += STEP_MS) {
    if (ms === lengthMs) {
      commands = server.commands;
      for (const machine of machines) machine.asked = machine.spent = 0;
    }
    clock.advance(STEP_MS);
    await settled(4);
    let tokens = 0;
    for (const machine of machines) tokens += machine.spend(STEP_MS);
    spent += tokens;
    const atUs = clock.now();
    spends.push({ fromUs: atUs, toUs: atUs, tokens });
    outstanding = Math.max(outstanding, server.out - spent);
  }
  const asked = machines.reduce((total, machine) => total + machine.asked, 0);
  const got = machines.reduce((total, machine) => total + machine.spent, 0);
  const parts = machines.map((machine) => machine.spent / machine.asked);
  const sellers = levels.at(-2)?.processes ?? 1;
  const racks = Array.from({ length: sellers }, (_, seller) =>
    machines.filter((_machine, i) => i % sellers === seller),
  );
  const evenParts = [...partsOfEven(racks.map(sumOf)), ...racks.flatMap(partsOfEven)];
  const commandsPerSecond = ((server.commands - commands) * 1000) / lengthMs;
  // Purchases may be in transit.
  const closed = Promise.all(all.map((bucket) => bucket.close()));
  await settled(4);
  clock.advance(TRIP_MS);
  await closed;
  return {
    share: got / ((rate * lengthMs) / 1000),
    served: got / asked,
    commandsPerSecond,
    outstanding,
    beyondRate: mostBeyondRate(spends, rate),
    fairness: [Math.min(...parts), Math.max(...parts)],
    evenness: [Math.min(...evenParts), Math.max(...evenParts)],
  };
}
