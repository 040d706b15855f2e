import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { createClient } from 'redis';
import { type RedisClient, RedisTokenBucket } from '../../src/integrations/redis.ts';
import { consumePoints } from '../flexible.ts';
import { versionOf } from '../peers/npm.ts';
import { BenchRedis, commandStats, INSTALL_REDIS, type Spent } from '../redis-server.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { median, ratios, shownSpread } from '../spread.ts';

const TITLE = 'One limit on a Redis server';

/**
 * In each round the peers take this many turns, so that whatever else the machine does slows all of
 * them.
 */
const TURNS = 10;
/** Concurrent calls. */
const CALLERS = [1, 64] as const;
/** Never runs out during the measurement. */
const AMPLE = { rate: 1e6, burst: 1e9 };
/** One second's worth, because the peer's shortest window is a second. */
const PACED = { rate: 1000, burst: 1000 };
const PACED_CALLERS = 8;

type Take = () => Promise<boolean>;

/** What callers do with a limiter on a server. */
interface Opened {
  readonly take: Take;
  /** Takes the whole tokens that are left, if the limiter can. */
  readonly rest: () => Promise<number>;
}

/** A limiter on a server, named after its client. */
interface RedisPeer {
  readonly name: string;
  readonly open: (limit: typeof AMPLE, key: string) => Opened;
}

function ours(client: RedisClient, limit: typeof AMPLE, key: string): Opened {
  const bucket = RedisTokenBucket.create({ client, key, ...limit });
  return { take: () => bucket.tryConsume(), rest: () => bucket.consumeOrDrain(limit.burst) };
}

function flexible(storeClient: Redis, { rate, burst }: typeof AMPLE, key: string): Opened {
  const limiter = new RateLimiterRedis({ storeClient, points: burst, duration: burst / rate });
  return { take: () => consumePoints(limiter, key), rest: async () => 0 };
}

interface Asked {
  readonly calls: number;
  readonly admitted: number;
  readonly seconds: number;
}

/** Runs concurrent callers for `ms`; each one makes one call after the other. */
async function ask(take: Take, callers: number, ms: number): Promise<Asked> {
  const begunMs = performance.now();
  let calls = 0;
  let admitted = 0;
  const caller = async () => {
    while (performance.now() - begunMs < ms) {
      if (await take()) admitted++;
      calls++;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { calls, admitted, seconds: (performance.now() - begunMs) / 1000 };
}

/** The server's clock. */
async function timeUs(admin: Redis): Promise<number> {
  const [seconds, micros] = await admin.time();
  return 1e6 * Number(seconds) + Number(micros);
}

/** Of one number of callers, a figure per round. */
interface Rounds {
  readonly callsPerSecond: number[];
  /** Commands per token. */
  readonly sent: number[];
  readonly executed: number[];
  /** Microseconds of the server per command sent. */
  readonly serverUs: number[];
}

interface Figures {
  /** By number of callers. */
  readonly rounds: ReadonlyMap<number, Rounds>;
  /** Deviation of the admitted tokens from burst + rate x t, in percent of rate x t. */
  errorPercent: number;
}

interface Total extends Spent {
  admitted: number;
  seconds: number;
}

/** One round: what each peer did in all its turns. */
async function takeTurns(
  peers: readonly RedisPeer[],
  callers: number,
  taskMs: number,
  admin: Redis,
): Promise<ReadonlyMap<RedisPeer, Total>> {
  const opened = peers.map((peer) => {
    const { take } = peer.open(AMPLE, `ample ${peer.name}`);
    return { peer, take, total: { admitted: 0, seconds: 0, sent: 0, executed: 0, serverUs: 0 } };
  });
  for (const { take } of opened) await ask(take, callers, taskMs / 4); // warm up
  for (let turn = 0; turn < TURNS; turn++) {
    for (const { peer, take, total } of opened) {
      await admin.config('RESETSTAT');
      const { calls, admitted, seconds } = await ask(take, callers, taskMs / TURNS);
      if (calls !== admitted) throw new Error(`${peer.name}: admitted ${admitted} of ${calls}`);
      const { sent, executed, serverUs } = commandStats(await admin.info('commandstats'));
      total.admitted += admitted;
      total.seconds += seconds;
      total.sent += sent;
      total.executed += executed;
      total.serverUs += serverUs;
    }
  }
  return new Map(opened.map(({ peer, total }) => [peer, total]));
}

async function measure(
  peers: readonly RedisPeer[],
  admin: Redis,
  { rounds, taskMs, pacingMs }: Settings,
): Promise<ReadonlyMap<RedisPeer, Figures>> {
  const figures = new Map<RedisPeer, Figures>();
  for (const peer of peers) {
    const none = (): Rounds => ({ callsPerSecond: [], sent: [], executed: [], serverUs: [] });
    const rounds = new Map(CALLERS.map((callers) => [callers as number, none()]));
    figures.set(peer, { rounds, errorPercent: 0 });
  }
  for (let round = 0; round < rounds; round++) {
    for (const callers of CALLERS) {
      const totals = await takeTurns(peers, callers, taskMs, admin);
      for (const [peer, { admitted, seconds, sent, executed, serverUs }] of totals) {
        const its = figures.get(peer)?.rounds.get(callers);
        its?.callsPerSecond.push(admitted / seconds);
        its?.sent.push(sent / admitted);
        its?.executed.push(executed / admitted);
        its?.serverUs.push(serverUs / sent);
      }
    }
  }
  for (const [peer, own] of figures) {
    const { take, rest } = peer.open(PACED, `paced ${peer.name}`);
    // By the server's clock, from the first command to the last: the bucket goes by no other.
    const [fromUs, { admitted }] = await Promise.all([
      timeUs(admin),
      ask(take, PACED_CALLERS, 2 * pacingMs),
    ]);
    const [left, toUs] = await Promise.all([rest(), timeUs(admin)]);
    const flowed = (PACED.rate * (toUs - fromUs)) / 1e6;
    own.errorPercent = (100 * (admitted + left - PACED.burst - flowed)) / flowed;
  }
  return figures;
}

/** One limit shared by many processes, on a real server. */
export async function benchRedis(settings: Settings): Promise<Section> {
  const server = await BenchRedis.start();
  if (server === undefined) {
    const text = `Not measured: there is no redis-server. Install it: ${INSTALL_REDIS}`;
    return { title: TITLE, text, head: ['peer'], rows: [] };
  }
  const io = new Redis(server.path);
  const admin = new Redis(server.path);
  const node = await createClient({ socket: { path: server.path, tls: false } }).connect();
  const zerotime: RedisPeer = { name: 'zerotime, ioredis', open: (...how) => ours(io, ...how) };
  const peers = [
    zerotime,
    { name: 'zerotime, redis', open: (...how: [typeof AMPLE, string]) => ours(node, ...how) },
    {
      name: 'rate-limiter-flexible, ioredis',
      open: (...how: [typeof AMPLE, string]) => flexible(io, ...how),
    },
  ];
  const figures = await measure(peers, admin, settings);
  io.disconnect();
  admin.disconnect();
  node.destroy();
  await server.stop();
  const first = figures.get(zerotime);
  return {
    title: TITLE,
    text: `\`tryConsume\` of \`RedisTokenBucket\`, and \`consume\` of \`RateLimiterRedis\`, from one thread, by the
number of concurrent calls. Client and server share the processors. The ratio compares the times of a call,
round by round, in which the peers take ${TURNS} turns each: above 1, zerotime is faster. Commands are counted
for each admitted token: those sent to the server, and those executed there, including the script's. The server's time is
that of one command sent. The error is that of a limit of ${PACED.rate}/s, burst ${PACED.burst}, that ${PACED_CALLERS} callers use without pause for ${(2 * settings.pacingMs) / 1000} s: the tokens admitted and those
left at the end, less burst + rate x t by the server's clock, in percent of rate x t. A fixed window has no separate burst, which counts as
such an error; nor does it hold the limit in every interval. Median (min..max) of ${settings.rounds} rounds.`,
    head: [
      'callers',
      'peer',
      'peer / zerotime',
      'calls/s',
      'sent',
      'executed',
      'server, us',
      'error, %',
    ],
    rows: CALLERS.flatMap((callers) =>
      [...figures].map(([peer, own]) => {
        const {
          callsPerSecond: rates = [],
          sent = [],
          executed = [],
          serverUs = [],
        } = own.rounds.get(callers) ?? {};
        const best = first?.rounds.get(callers)?.callsPerSecond ?? [];
        return [
          `${callers}`,
          peer.name,
          peer === zerotime ? '' : shownSpread(ratios(best, rates)),
          median(rates).toFixed(0),
          median(sent).toFixed(2),
          median(executed).toFixed(2),
          median(serverUs).toFixed(1),
          own.errorPercent.toFixed(3),
        ];
      }),
    ),
    versions: [versionOf('rate-limiter-flexible'), versionOf('redis'), versionOf('ioredis')],
  };
}
