import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ManualClock, type RateLimitError, TokenBucket } from '../../../src/index.ts';
import { RedisTokenBucket, type RedisTokenBucketOptions } from '../../../src/integrations/redis.ts';
import { systemClock } from '../../../src/time/system-clock.ts';
import { type Granted, mostBeyond } from '../../oracle/bound.ts';
import { SEED, SHARE } from '../../support/random.ts';
import { CONNECT, type Connection, PACKAGES, serverOfTest } from './connections.ts';
import { LossyProxy } from './lossy-proxy.ts';
import { LACKS_REDIS, RedisServer } from './server.ts';

/** So slow that no token arrives during a test. */
const SLOW = 1e-3;
const BURST = 10;
/** Long enough for a busy machine; only a test that hangs gets here. */
const PATIENCE = { timeoutMs: 60_000 };

const isScript = (chunk: Buffer) => /\r\neval(sha)?\r\n/i.test(chunk.toString('latin1'));

/** Both clients in `npm run test:all`, else one by the seed: each test waits for timeouts of a server. */
const CLIENTS = PACKAGES.filter((_, i) => SHARE >= 1 || i === SEED % PACKAGES.length);

describe.skipIf(LACKS_REDIS).each(CLIENTS)('with %s', (name) => {
  let server: RedisServer;
  let proxy: LossyProxy;
  let connection: Connection;
  /** A connection that bypasses the proxy. */
  let direct: Connection;
  let told: RateLimitError[];

  beforeEach(async () => {
    server = await RedisServer.start();
    proxy = await LossyProxy.to(server.port);
    connection = await CONNECT[name](proxy.url);
    direct = await CONNECT[name](server.url);
    told = [];
  });
  afterEach(async () => {
    connection.end();
    direct.end();
    await proxy.stop();
    await server.stop();
  });

  const create = (options: Partial<RedisTokenBucketOptions> = {}) =>
    RedisTokenBucket.create({
      client: connection.client,
      key: 'a',
      rate: SLOW,
      burst: BURST,
      // Longer than a busy machine stalls.
      timeoutMs: 600,
      onUnreachable: (error) => told.push(error),
      ...options,
    });

  /** Tokens left on the server, read over a working connection. */
  const left = async () => {
    const { client } = direct;
    return Math.floor(await create({ client, timeoutMs: 60_000 }).available());
  };

  /** Takes tokens until refused, and returns their number. */
  const takeAll = async (bucket: RedisTokenBucket) => {
    let admitted = 0;
    while (await bucket.tryConsume()) admitted++;
    return admitted;
  };

  test('a killed server refuses, and serves again after a restart', async () => {
    // An answer that comes later would leave its token taken.
    const bucket = create({ timeoutMs: 2_000 });
    expect(await bucket.tryConsume(4)).toBe(true);
    await server.kill();
    expect(await bucket.tryConsume()).toBe(false);
    expect(await bucket.consumeOrDrain(5)).toBe(0);
    expect(await bucket.acquire()).toBe(-1);
    expect(await bucket.reserve()).toBeUndefined();
    expect(await bucket.returnTokens(1)).toBeUndefined();
    expect(await bucket.decide()).toMatchObject({ allowed: false, limit: BURST, remaining: 0 });
    await expect(bucket.balance()).rejects.toMatchObject({ code: 'ERR_UNREACHABLE' });
    await expect(bucket.reconfigure({ rate: 1 })).rejects.toMatchObject({
      code: 'ERR_UNREACHABLE',
    });
    await expect(bucket.wait(1, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'ERR_UNREACHABLE',
      cause: { code: 'ERR_UNREACHABLE' },
    });
    expect(told).toHaveLength(1);
    const waiting = bucket.wait(1, PATIENCE);
    await server.start();
    await waiting;
    // The server lost its data, which allows one more burst.
    expect(await takeAll(bucket)).toBe(BURST - 1);
    expect(bucket.stats()).toMatchObject({ admitted: 4 + BURST });
    expect(bucket.stats().unreachable).toBeGreaterThan(8);
  });

  test('an abort ends a wait for a dead server', async () => {
    const bucket = create();
    await server.kill();
    const end = new AbortController();
    const waiting = bucket.wait(1, { signal: end.signal });
    await bucket.tryConsume();
    end.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  // docs/redis.md: "A call never takes effect late"
  test('a paused server ignores calls past their deadline', async () => {
    const bucket = create();
    expect(await bucket.tryConsume(4)).toBe(true);
    server.pause();
    const calls = Array.from({ length: 20 }, () => bucket.tryConsume());
    expect(await Promise.all(calls)).not.toContain(true);
    const waiting = bucket.wait(1, PATIENCE);
    server.resume();
    await waiting;
    expect(await left()).toBe(BURST - 5);
    expect(await takeAll(bucket)).toBe(BURST - 5);
  });

  test('a server that stalls twice ignores calls past their deadline', async () => {
    const bucket = create({ timeoutMs: 300 });
    const patient = create(PATIENCE);
    expect(await bucket.tryConsume(4)).toBe(true);
    server.pause();
    // Its answer comes after a stall that is longer than the timeout of the next calls.
    const stalled = patient.tryConsume();
    for (let call = 0; call < 3; call++) expect(await create().tryConsume()).toBe(false);
    server.resume();
    expect(await stalled).toBe(true);
    server.pause();
    expect(await bucket.tryConsume(5)).toBe(false);
    server.resume();
    await patient.wait(1, PATIENCE);
    expect(await left()).toBe(BURST - 6);
  });

  test('a slow server ignores calls past their deadline', async () => {
    const bucket = create();
    expect(await bucket.tryConsume(4)).toBe(true);
    await direct.send('CLIENT', 'PAUSE', '1500', 'ALL');
    await expect(bucket.wait(1, { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'ERR_UNREACHABLE',
    });
    await bucket.wait(1, PATIENCE);
    expect(await left()).toBe(BURST - 5);
  });

  // docs/redis.md: "At most the bucket becomes full"
  test('an emptied data set allows one more burst', async () => {
    const bucket = create();
    await bucket.reconfigure({ burst: BURST / 2 });
    let admitted = await takeAll(bucket);
    await direct.send('FLUSHALL');
    admitted += await takeAll(bucket);
    // The changed limit is lost too.
    expect(admitted).toBe(BURST / 2 + BURST);
  });

  test.each(['allkeys-lru', 'volatile-ttl'])(
    'a key evicted by %s allows one more burst',
    async (policy) => {
      const bucket = create();
      let admitted = await takeAll(bucket);
      await direct.send('CONFIG', 'SET', 'maxmemory-policy', policy);
      await direct.send('CONFIG', 'SET', 'maxmemory', '1');
      // The server frees memory before each command that may need some, and then refuses it.
      await direct.send('SET', 'other', 'x').catch(() => undefined);
      expect(await direct.send('EXISTS', 'a')).toBe(0);
      await direct.send('CONFIG', 'SET', 'maxmemory', '0');
      admitted += await takeAll(bucket);
      expect(admitted).toBe(2 * BURST);
    },
  );

  test('noeviction keeps a key', async () => {
    const bucket = create();
    await takeAll(bucket);
    await direct.send('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await direct.send('CONFIG', 'SET', 'maxmemory', '1');
    await expect(direct.send('SET', 'other', 'x')).rejects.toThrow('OOM');
    await direct.send('CONFIG', 'SET', 'maxmemory', '0');
    expect(await takeAll(bucket)).toBe(0);
  });

  test('a read-only server refuses until it accepts writes', async () => {
    const bucket = create();
    expect(await bucket.tryConsume(4)).toBe(true);
    const primary = await serverOfTest();
    await direct.send('REPLICAOF', '127.0.0.1', String(primary.port));
    expect(await bucket.tryConsume()).toBe(false);
    expect(told).toHaveLength(1);
    await direct.send('REPLICAOF', 'NO', 'ONE');
    await bucket.wait(1, PATIENCE);
  });

  // docs/redis.md: "A call never admits twice."
  test('a connection cut within a command admits nothing', async () => {
    const bucket = create();
    expect(await bucket.tryConsume(4)).toBe(true);
    let cuts = 0;
    proxy.request = (chunk) => (isScript(chunk) && cuts++ === 0 ? 'cut' : 'pass');
    // ioredis repeats the command by itself.
    const isAdmitted = await bucket.tryConsume();
    expect(cuts).toBeGreaterThan(0);
    await bucket.wait(1, PATIENCE);
    expect(await left()).toBe(BURST - 5 - (isAdmitted ? 1 : 0));
  });

  // docs/redis.md: "At most its tokens are lost"
  test('a connection cut before the answer admits at most the tokens taken', async () => {
    const bucket = create();
    expect(await bucket.tryConsume(4)).toBe(true);
    let cuts = 0;
    let isAsked = false;
    proxy.request = (chunk) => {
      isAsked ||= isScript(chunk);
      return 'pass';
    };
    proxy.reply = () => (isAsked && cuts++ === 0 ? 'cut' : 'pass');
    const isAdmitted = await bucket.tryConsume();
    expect(cuts).toBeGreaterThan(0);
    await bucket.wait(1, PATIENCE);
    const admitted = 5 + (isAdmitted ? 1 : 0);
    // The command was executed, without an answer, and once more if the client repeated it.
    expect(await left()).toBe(BURST - admitted - 1);
  });

  test('a connection cut before the answer returns tokens once, if no client repeats it', async () => {
    const redis = new Redis(proxy.url, { autoResendUnfulfilledCommands: false });
    onTestFinished(() => redis.disconnect());
    const bucket = create(name === 'ioredis' ? { client: redis } : {});
    expect(await bucket.tryConsume(BURST)).toBe(true);
    let cuts = 0;
    proxy.reply = () => (cuts++ === 0 ? 'cut' : 'pass');
    await bucket.returnTokens(3);
    expect(cuts).toBeGreaterThan(0);
    await bucket.wait(1, PATIENCE);
    expect(await left()).toBe(2);
  });

  test('a connection lost without a sign is replaced after the socketTimeout of ioredis', async () => {
    const redis = new Redis(proxy.url, { socketTimeout: 300, retryStrategy: () => 20 });
    onTestFinished(() => redis.disconnect());
    const bucket = create({ client: redis });
    expect(await bucket.tryConsume()).toBe(true);
    let isLost = true;
    redis.once('reconnecting', () => {
      isLost = false;
    });
    proxy.request = () => (isLost ? 'swallow' : 'pass');
    await bucket.wait(1, PATIENCE);
    expect(isLost).toBe(false);
  });

  test('a connection lost without a sign is replaced if its user connects anew', async () => {
    const redis = createClient({ url: proxy.url });
    redis.on('error', () => undefined);
    await redis.connect();
    onTestFinished(() => redis.destroy());
    let isLost = false;
    const onUnreachable = async () => {
      isLost = false;
      redis.destroy();
      await redis.connect();
    };
    const bucket = create({ client: redis, onUnreachable });
    expect(await bucket.tryConsume()).toBe(true);
    isLost = true;
    proxy.request = () => (isLost ? 'swallow' : 'pass');
    await bucket.wait(1, PATIENCE);
    expect(isLost).toBe(false);
    expect(await left()).toBe(BURST - 2);
  });

  test('calls do not wait for a dead server one after another', async () => {
    const bucket = create();
    await bucket.tryConsume();
    let asked = 0;
    proxy.request = (chunk) => {
      if (isScript(chunk)) asked++;
      return 'swallow';
    };
    for (let i = 0; i < 1000; i++) expect(await bucket.tryConsume()).toBe(false);
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThan(20);
    expect(told).toHaveLength(1);
  });

  test('a flushed script is sent again', async () => {
    const bucket = create();
    expect(await bucket.tryConsume(4)).toBe(true);
    await direct.send('SCRIPT', 'FLUSH');
    expect(await bucket.tryConsume()).toBe(true);
    expect(await left()).toBe(BURST - 5);
    expect(told).toHaveLength(0);
    const stats = String(await direct.send('INFO', 'commandstats'));
    expect(stats).toMatch(/cmdstat_eval:calls=2,/);
  });

  test('calls reject with whenUnreachable: throw', async () => {
    const bucket = create({ whenUnreachable: 'throw' });
    await server.kill();
    const unreachable = { name: 'RateLimitError', code: 'ERR_UNREACHABLE' };
    await expect(bucket.tryConsume()).rejects.toMatchObject(unreachable);
    await expect(bucket.consumeOrDrain(5)).rejects.toMatchObject(unreachable);
    await expect(bucket.wait()).rejects.toMatchObject(unreachable);
    await expect(bucket.returnTokens(1)).rejects.toMatchObject(unreachable);
    await server.start();
    let admitted = 0;
    while (admitted === 0) admitted = await bucket.consumeOrDrain(100).catch(() => 0);
    expect(admitted).toBe(BURST);
  });

  // docs/redis.md: "This process admits its share of the limit"
  test('each process admits its share with whenUnreachable: local', async () => {
    const fleet = Array.from({ length: 3 }, () =>
      create({ whenUnreachable: 'local', processes: 3, burst: 12 }),
    );
    const [first] = fleet;
    await first?.reconfigure({ burst: 9 });
    for (const bucket of fleet) expect(await bucket.tryConsume(2)).toBe(true);
    await server.kill();
    for (const bucket of fleet) expect(await takeAll(bucket)).toBe(3);
    expect(await first?.available()).toBeLessThan(1);
    expect(await first?.decide()).toMatchObject({ allowed: false, limit: 3 });
    await first
      ?.reconfigure({ burst: 1 })
      .catch((error) => expect(error.code).toBe('ERR_UNREACHABLE'));
    await expect(first?.wait(1, { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'ERR_RATE_LIMIT_TIMEOUT',
    });
    // The server may grant more than the share.
    expect(await first?.tryConsume(4)).toBe(false);
    expect(await first?.reserve(4)).toBeUndefined();
    const refused = await first?.decide(4);
    expect(refused?.retryAfterMs).toBeLessThan(1000);
    await expect(first?.wait(4, { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'ERR_UNREACHABLE',
    });
    const waiting = first?.wait(4, PATIENCE);
    await server.start();
    await waiting;
    while ((await first?.decide(0))?.limit === 3);
    expect(await takeAll(first as RedisTokenBucket)).toBe(8);
  });
});

// docs/redis.md: "If burst / processes is at least 1, at most 2 x burst + rate x (t + d)"
// docs/redis.md: "Otherwise each process starts with one token"
test.each([
  [12, 3],
  [2, 8],
])(
  'an outage adds the shares of all processes to a burst of %d: %d processes',
  async (burst, processes) => {
    const [rate, outageMs] = [100, 300];
    let nowUs = 1e12;
    vi.spyOn(systemClock, 'now').mockImplementation(() => nowUs);
    const clock = ManualClock.create();
    const stored = TokenBucket.create({ rate, burst, clock });
    let isDown = false;
    const answer = async () => {
      if (isDown) throw new Error('connect ECONNREFUSED');
      // The server's time, negative for a refusal.
      return stored.tryConsume() ? 1e15 : -1e15;
    };
    const buckets = Array.from({ length: processes }, (_, index) =>
      RedisTokenBucket.create({
        ...{ client: { evalSha: answer, eval: answer, on: () => undefined }, key: `${index}` },
        ...{ rate, burst, whenUnreachable: 'local', processes },
      }),
    );
    const granted: Granted[] = [];
    for (let ms = 0; ms < 1500; ms++, nowUs += 1000) {
      clock.advance(1);
      isDown = ms >= 500 && ms < 500 + outageMs;
      for (const bucket of buckets) {
        while (await bucket.tryConsume()) granted.push({ atUs: nowUs, n: 1 });
      }
    }
    const beyond = (of: number) => mostBeyond(granted, [{ atUs: 0, rate: of }]).beyond;
    const shares = Math.max(burst, processes);
    expect(beyond(rate)).toBeGreaterThan(shares);
    expect(beyond(rate)).toBeLessThanOrEqual(burst + shares + (rate * outageMs) / 1000);
    if (burst >= processes) expect(beyond(2 * rate)).toBeLessThanOrEqual(2 * burst);
  },
);
