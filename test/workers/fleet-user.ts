import { createClient } from 'redis';
import type { Spend } from '../../bench/spend-log.ts';
import { HostRegion } from '../../src/host.ts';
import { systemClock, TokenBucket } from '../../src/index.ts';
import {
  FleetBucket,
  type FleetHandle,
  type FleetStats,
  RedisTokenBucket,
  type TokenSource,
} from '../../src/integrations/redis.ts';

/** What each process opens, the same for all. */
export interface FleetOpening {
  readonly path: string;
  /** The server; without one, a bucket of the region is the source. */
  readonly url?: string;
  readonly limit: { readonly rate: number; readonly burst: number };
  readonly stock: number;
  readonly minStock: number;
}

/** What a process does with a fleet bucket of a region when it is asked to. */
export type FleetJob =
  | { readonly open: FleetOpening }
  /** Waits for one token after the other from now on. */
  | { readonly start: true }
  /** Waits for tokens that never come. */
  | { readonly wait: number }
  /** Ends that, and answers with the spends. */
  | { readonly stop: true }
  /** From its next purchase on, the source keeps what it has sold. */
  | { readonly stall: true }
  | { readonly look: true }
  | { readonly close: true };

/** The answer to `look`. */
export interface FleetView {
  readonly handle: FleetHandle;
  readonly stats: FleetStats;
  /** Commands that this process has sent to the server, or the calls of its source. */
  readonly commands: number;
  readonly spent: number;
}

/** A bucket that hardly refills: it counts the spends of all processes. */
export const SPENT = { rate: 0.01, burst: 1e6 };

let fleet: FleetBucket | undefined;
let spent: TokenBucket | undefined;
let commands = () => 0;
let isStalling = false;
let isOver = false;
const spends: Spend[] = [];
let spending: Promise<void> = Promise.resolve();

function open(): FleetBucket {
  if (fleet === undefined) throw new Error('no fleet bucket was opened');
  return fleet;
}

async function serverSource({ url = '', limit }: FleetOpening): Promise<TokenSource> {
  const client = createClient({ url });
  client.on('error', () => undefined);
  await client.connect();
  // Long enough for a busy machine.
  const timeoutMs = 30_000;
  const source = RedisTokenBucket.create({
    ...{ client, key: 'fleet', ...limit, timeoutMs, whenUnreachable: 'throw' },
  });
  commands = () => source.stats().commands;
  return source;
}

function regionSource(market: TokenBucket): TokenSource {
  let calls = 0;
  commands = () => calls;
  return {
    async consumeOrDrain(n) {
      calls++;
      const sold = market.consumeOrDrain(n);
      if (isStalling) {
        process.send?.({ result: sold });
        await new Promise(() => undefined);
      }
      return sold;
    },
    returnTokens: async (n) => market.returnTokens(n),
  };
}

async function spend(): Promise<void> {
  while (!isOver) {
    const fromUs = systemClock.now();
    await open().wait();
    spent?.tryConsume();
    spends.push({ fromUs, toUs: systemClock.now(), tokens: 1 });
  }
}

async function answer(job: FleetJob): Promise<unknown> {
  if ('open' in job) {
    const { path, url, limit, stock, minStock } = job.open;
    const region = HostRegion.open({ path });
    spent = TokenBucket.open(region, 'spent', SPENT);
    const source =
      url === undefined
        ? regionSource(TokenBucket.open(region, 'market', limit))
        : await serverSource(job.open);
    fleet = await FleetBucket.open(region, 'hot', { source, stock, minStock });
    return commands();
  }
  if ('start' in job) {
    spending = spend();
    spending.catch(() => undefined);
    return true;
  }
  if ('wait' in job) {
    open()
      .wait(job.wait)
      .catch(() => undefined);
    return true;
  }
  if ('stop' in job) {
    isOver = true;
    await spending;
    return spends;
  }
  if ('stall' in job) {
    isStalling = true;
    open().consumeOrDrain(1e9);
    return undefined; // the source answers
  }
  if ('close' in job) await open().close();
  const { handle } = open();
  const view: FleetView = {
    handle,
    stats: open().stats(),
    commands: commands(),
    spent: spends.length,
  };
  return view;
}

process.on('message', (job: FleetJob) => {
  answer(job).then(
    (result) => 'stall' in job || process.send?.({ result }),
    (error: Error) => process.send?.({ error: `${error.message}` }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
