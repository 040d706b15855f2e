import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { HostRegion } from '../../src/host.ts';
import type { Clock, Region } from '../../src/index.ts';

/** A process of a machine that was started some time ago: its clocks stand still. */
export interface Boot {
  readonly path: string;
  /** A hexadecimal digit, of which the id of the machine's start consists. */
  readonly id: string;
  readonly systemUs: number;
  readonly wallMs: number;
  readonly afterReboot?: 'refuse' | 'keep';
  /** Ends the process at this one of its writes to the file: before it, or after it if negative. */
  readonly deadlyWrite?: number;
  /** What to do with the region: fill it, compare it with a twin, or tell its time only. */
  readonly job: 'fill' | 'compare' | 'open';
}

/** What such a process found. */
export interface Found {
  readonly error?: string;
  /** By how much the region's time is ahead of the system's clock. */
  readonly shiftUs?: number;
  /** The states of the limiters, and the first of the keys. */
  readonly states?: readonly string[];
  /** Those that differ from the twin's, of all keys: at most 10. */
  readonly differences?: readonly string[];
  readonly recovered?: number;
  readonly openMs?: number;
}

const KEYS = 100_000;
const FEW_KEYS = 10_000;
const SHOWN = 20;
/** The instant at which limiters are filled, and the one at which a twin is. */
const FILLED_US = 7e9;

function start({ id, systemUs, wallMs, deadlyWrite = 0 }: Boot): void {
  const { readFileSync, writeSync } = fs;
  const read = (path: string, ...rest: never[]) =>
    path.endsWith('boot_id') ? id.repeat(32) : readFileSync(path, ...rest);
  fs.readFileSync = read as typeof readFileSync;
  let writes = 0;
  const write = (...call: Parameters<typeof writeSync>) => {
    writes++;
    if (writes === deadlyWrite) process.kill(process.pid, 'SIGKILL');
    const written = writeSync(...call);
    if (writes === -deadlyWrite) process.kill(process.pid, 'SIGKILL');
    return written;
  };
  fs.writeSync = write as typeof writeSync;
  syncBuiltinESMExports();
  const time = () => [Math.floor(systemUs / 1e6), (systemUs % 1e6) * 1000];
  process.hrtime = time as typeof process.hrtime;
  Date.now = () => wallMs;
}

/** Limiters of each kind in a region. */
async function limitersIn(region: Region, clock?: Clock) {
  const zt = await import('../../src/index.ts');
  const at = clock && { clock };
  const limits = [
    { rate: 0.5, burst: 50 },
    { rate: 0.01, burst: 90 },
  ];
  return {
    quota: zt.TokenBucket.open(region, 'quota', { rate: 0.01, burst: 1000, ...at }),
    debt: zt.TokenBucket.open(region, 'debt', { rate: 2, burst: 10, ...at }),
    leaky: zt.LeakyBucket.open(region, 'leaky', { rate: 1, slack: 19, ...at }),
    set: zt.LimitSet.open(region, 'set', { limits, ...at }),
    fixed: zt.FixedWindow.open(region, 'fixed', { limit: 100, intervalMs: 3_600_000, ...at }),
    sliding: zt.SlidingWindow.open(region, 'sliding', { limit: 100, intervalMs: 60_000, ...at }),
    log: zt.SlidingLog.open(region, 'log', { limit: 30, intervalMs: 60_000, ...at }),
    sometimes: zt.Sometimes.open(region, 'sometimes', { intervalMs: 20_000, ...at }),
    semaphore: zt.Semaphore.open(region, 'semaphore', { permits: 5, ...at }),
    keys: zt.KeyedTokenBucket.open(region, 'keys', {
      ...{ rate: 0.001, burst: 10, capacity: KEYS, ...at },
    }),
    windows: zt.KeyedFixedWindow.open(region, 'windows', {
      ...{ limit: 10, intervalMs: 3_600_000, capacity: FEW_KEYS, ...at },
    }),
    keySets: zt.KeyedLimitSet.open(region, 'key sets', { limits, capacity: FEW_KEYS, ...at }),
  };
}

type Limiters = Awaited<ReturnType<typeof limitersIn>>;

function fill(limiters: Limiters): void {
  const { quota, debt, leaky, set, fixed, sliding, log, sometimes, keys, windows, keySets } =
    limiters;
  quota.tryConsume(990.5);
  debt.charge(40);
  debt.reserve(5); // of a caller that the restart ends
  leaky.tryConsume(17);
  set.tryConsume(45);
  set.reserve(9);
  fixed.tryConsume(64);
  sliding.tryConsume(77);
  log.tryConsume(29);
  sometimes.do(() => undefined);
  for (let key = 0; key < KEYS; key++) keys.tryConsume(key, 1 + (key % 10));
  keys.charge('debtor', 500);
  keys.block('blocked', 3_600_000);
  for (let key = 0; key < FEW_KEYS; key++) windows.tryConsume(key, 1 + (key % 10));
  for (let key = 0; key < FEW_KEYS; key++) keySets.tryConsume(key, 1 + (key % 40));
}

function statesOf(limiters: Limiters): string[] {
  const { sometimes, semaphore, keys, windows, keySets, ...others } = limiters;
  const shown = Object.entries(others).map(([name, limiter]) => {
    const waits = [1, 2, 5, 10, 20].map((n) => limiter.timeUntil(n));
    return `${name} ${JSON.stringify([limiter, limiter.decide(0), waits])}`;
  });
  const isDue = { sometimes: false };
  sometimes.do(() => {
    isDue.sometimes = true;
  });
  const { permits } = semaphore;
  const named = ['debtor', 'blocked'].map((key) => JSON.stringify(keys.decide(key, 0)));
  const few = Array.from({ length: FEW_KEYS }, (_, key) =>
    JSON.stringify([windows.decide(key, 0), keySets.decide(key, 0)]),
  );
  const all = Array.from(
    { length: KEYS },
    (_, key) => `${keys.balance(key)} ${keys.timeUntil(key, 9)}`,
  );
  const free = `semaphore ${semaphore.available()} of ${permits}, waiting ${semaphore.waiting}`;
  return [...shown, JSON.stringify(isDue), free, ...named, ...few, ...all];
}

/** The states of limiters that never saw a restart, at an instant of the region's time. */
async function twinAt(nowUs: number): Promise<string[]> {
  const { ManualClock, Region: Twins } = await import('../../src/index.ts');
  const region = Twins.create({ bytes: 2 ** 25 });
  const clock = ManualClock.open(region, 'clock', { nowMs: FILLED_US / 1000 });
  const twins = await limitersIn(region, clock);
  fill(twins);
  clock.set(nowUs / 1000);
  return statesOf(twins);
}

const JOBS: Record<Boot['job'], (region: HostRegion) => Promise<Partial<Found>>> = {
  open: async () => ({}),
  async fill(region) {
    const limiters = await limitersIn(region);
    fill(limiters);
    // Permits, and callers in the queue for one, end with the process.
    for (let i = 0; i < 7; i++) limiters.semaphore.acquire().catch(() => undefined);
    limiters.debt.wait(1).catch(() => undefined);
    limiters.debt.returnTokens(1); // what the wait took
    return { states: statesOf(limiters).slice(0, SHOWN) };
  },
  async compare(region) {
    const limiters = await limitersIn(region);
    const nowUs = limiters.quota.clock.now();
    const recovered = region.recovered().permits;
    const [states, expected] = [statesOf(limiters), await twinAt(nowUs)];
    const differences = states.filter((state, i) => state !== expected[i]).slice(0, 10);
    return { states: states.slice(0, SHOWN), differences, recovered };
  },
};

async function run(boot: Boot): Promise<Found> {
  const { path, afterReboot = 'refuse', job } = boot;
  const { HostRegion } = await import('../../src/host.ts');
  try {
    const begunMs = performance.now();
    const region = HostRegion.open({
      path,
      afterReboot,
      ...(job === 'fill' && { bytes: 2 ** 25 }),
    });
    const openMs = performance.now() - begunMs;
    return { shiftUs: region.shiftUs, openMs, ...(await JOBS[job](region)) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

process.on('message', async (boot: Boot) => {
  start(boot);
  process.send?.(await run(boot));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
