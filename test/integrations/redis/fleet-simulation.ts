import { setImmediate } from 'node:timers/promises';
import { mostBeyondRate, type Spend } from '../../../bench/spend-log.ts';
import { ManualClock, TokenBucket } from '../../../src/index.ts';
import {
  FleetBucket,
  type FleetSpender,
  type TokenSource,
} from '../../../src/integrations/redis.ts';
import type { Random } from '../../support/random.ts';

/** The clock moves by so much at a time. */
const STEP_MS = 5;
/** Between two machines, there and back. */
const TRIP_MS = 5;
/** Until the stocks have found their size. */
const WARM_UP_MS = 3000;

/** The processes of one level: each buys from one of the level above. */
export interface Level {
  readonly processes: number;
  readonly stock: number;
  readonly intervalMs: number;
}

/** A limit, and the fleet that spends it. */
export interface Simulation {
  readonly rate: number;
  readonly burst: number;
  /** From the server down: those of the last one spend. */
  readonly levels: readonly Level[];
  /** What all machines together ask for, in tokens per second. */
  readonly demand: number;
  /** Measured for so long. */
  readonly lengthMs: number;
}

/** What a simulation has shown. */
export interface Simulated {
  /** Tokens spent, of those that flowed in. */
  readonly share: number;
  /** Tokens spent, of those that were asked for. */
  readonly served: number;
  /** To the server. */
  readonly commandsPerSecond: number;
  /** The most that were in stock or on their way, at any instant. */
  readonly outstanding: number;
  /** The most that any interval holds beyond its length times the rate. */
  readonly beyondRate: number;
  /** Of the machine that got least and of that which got most, of what each asked for. */
  readonly fairness: readonly [number, number];
}

/** A source at the other end of a network, which counts what it is asked. */
class Remote implements TokenSource {
  commands = 0;
  /** Tokens that it gave out and did not get back. */
  out = 0;
  readonly #near: Pick<FleetSpender, 'consumeOrDrain' | 'returnTokens'>;
  readonly #clock: ManualClock;

  constructor(near: Pick<FleetSpender, 'consumeOrDrain' | 'returnTokens'>, clock: ManualClock) {
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

  async returnTokens(n: number): Promise<void> {
    this.commands++;
    this.out -= n;
    this.#near.returnTokens(n);
  }
}

/** Lets what is due happen: a purchase takes a few turns of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await setImmediate();
}

/** A machine asks for so many tokens a millisecond; what it does not get it forgets. */
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

/** Real fleet buckets, as many as there are machines, on one clock that is moved by hand. */
export async function simulate(simulation: Simulation, random: Random): Promise<Simulated> {
  const { rate, burst, levels, demand, lengthMs } = simulation;
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
    await settle();
    clock.advance(TRIP_MS);
    last = await Promise.all(joining);
    all.push(...last);
    above = last.map((bucket) => new Remote(bucket, clock));
  }
  // Some ask for up to three times as much as others.
  const weights = last.map(() => 0.5 + random.bits() / 2 ** 32);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const machines = last.map(
    (bucket, i) => new Machine(bucket, (demand / 1000) * ((weights[i] ?? 0) / sum)),
  );

  const spends: Spend[] = [];
  let outstanding = 0;
  let commands = 0;
  let spent = 0;
  for (let ms = 0; ms < WARM_UP_MS + lengthMs; ms += STEP_MS) {
    if (ms === WARM_UP_MS) {
      commands = server.commands;
      for (const machine of machines) machine.asked = machine.spent = 0;
    }
    clock.advance(STEP_MS);
    await settle();
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
  const commandsPerSecond = ((server.commands - commands) * 1000) / lengthMs;
  // Purchases may be on their way.
  const closed = Promise.all(all.map((bucket) => bucket.close()));
  await settle();
  clock.advance(TRIP_MS);
  await closed;
  return {
    share: got / ((rate * lengthMs) / 1000),
    served: got / asked,
    commandsPerSecond,
    outstanding,
    beyondRate: mostBeyondRate(spends, rate),
    fairness: [Math.min(...parts), Math.max(...parts)],
  };
}
