import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ManualClock, RateLimitError, systemClock, TokenBucket } from '../../../src/index.ts';
import {
  FleetBucket,
  type RedisClient,
  RedisTokenBucket,
  type RedisTokenBucketOptions,
} from '../../../src/integrations/redis.ts';
import { CERT, KEY } from '../../support/certificate.ts';
import { until } from '../../support/settled.ts';

type Given = Omit<Partial<RedisTokenBucketOptions>, 'limits' | 'rate' | 'burst'>;

function bucketOn(client: RedisClient, options: Given = {}): RedisTokenBucket {
  const limit = { key: 'a', rate: 1, burst: 3, timeoutMs: 20 } as const;
  return RedisTokenBucket.create({ client, ...limit, whenUnreachable: 'throw', ...options });
}

/** A loopback port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A port with a certificate that no client trusts. */
async function untrustedPort(): Promise<number> {
  const server = createTlsServer({ cert: CERT, key: KEY });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A client that tries to connect, and goes on trying. */
const CLIENTS = {
  redis: (url: string) => {
    const client = createClient({ url });
    client.on('error', () => undefined);
    client.connect().catch(() => undefined);
    onTestFinished(() => client.destroy());
    return client;
  },
  ioredis: (url: string) => {
    const client = new Redis(url);
    onTestFinished(() => client.disconnect());
    return client;
  },
};

const FAULTS: readonly [string, () => Promise<string>, RegExp][] = [
  ['a refused connection', async () => `redis://127.0.0.1:${await closedPort()}`, /^ECONNREFUSED$/],
  ['a wrong name', async () => 'redis://no-such-host.invalid', /^(ENOTFOUND|EAI_AGAIN)$/],
  [
    'an untrusted certificate',
    async () => `rediss://127.0.0.1:${await untrustedPort()}`,
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/,
  ],
];

describe.each(Object.entries(CLIENTS))('with %s', (_, connect) => {
  test.each(FAULTS)('%s is the cause of an unanswered call', async (_fault, urlOf, code) => {
    const client = connect(await urlOf());
    const bucket = bucketOn(client);
    await new Promise((resolve) => client.once('error', resolve));
    const cause = expect.objectContaining({ code: expect.stringMatching(code) });
    const failure = { code: 'ERR_UNREACHABLE', cause };
    await expect(bucket.tryConsume()).rejects.toMatchObject(failure);
    // Calls are paused now.
    await expect(bucket.tryConsume()).rejects.toMatchObject({ cause: failure });
  });

  test('a refused connection is the cause for which a fleet gets no tokens', async () => {
    const client = connect(`redis://127.0.0.1:${await closedPort()}`);
    const source = bucketOn(client);
    await new Promise((resolve) => client.once('error', resolve));
    const fleet = await FleetBucket.create({ source, stock: 10 });
    const cause = { code: 'ERR_UNREACHABLE', cause: { code: 'ECONNREFUSED' } };
    expect(fleet.stats()).toMatchObject({ isReachable: false, cause });
    await expect(fleet.wait(1, { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'ERR_RATE_LIMIT_TIMEOUT',
      cause: { code: 'ERR_UNREACHABLE' },
    });
    await fleet.close();
  });
});

test('a call that a client gives up has the reason for which it cannot connect', async () => {
  const client = new Redis({ port: await closedPort(), maxRetriesPerRequest: 1 });
  onTestFinished(() => client.disconnect());
  await expect(bucketOn(client, { timeoutMs: 60_000 }).tryConsume()).rejects.toMatchObject({
    message: expect.stringContaining('max retries per request'),
    cause: { code: 'ECONNREFUSED' },
  });
});

describe('no node of a cluster', () => {
  test('answers redis: the cause is its error', async () => {
    const url = `redis://127.0.0.1:${await closedPort()}`;
    const client = createCluster({ rootNodes: [{ url }] });
    const bucket = bucketOn(client);
    const errors: unknown[] = [];
    client.on('error', (error) => errors.push(error));
    await client.connect().catch(() => undefined);
    const error = await bucket.tryConsume().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ERR_UNREACHABLE', cause: expect.any(Error) });
    expect(errors).toContain((error as Error).cause);
  });

  test('answers ioredis: the cause is the error of the last one', async () => {
    const client = new Cluster([{ host: '127.0.0.1', port: await closedPort() }]);
    onTestFinished(() => client.disconnect());
    const bucket = bucketOn(client);
    await once(client, 'node error').catch(() => undefined);
    await expect(bucket.tryConsume()).rejects.toMatchObject({ cause: expect.any(Error) });
  });
});

/** A client whose answers and errors the test sends. */
class Scripted extends EventEmitter {
  answer: () => Promise<unknown> = async () => 1e15;
  readonly evalSha = () => this.answer();
  readonly eval = () => this.answer();
}

const UNREACHABLE = { code: 'ERR_UNREACHABLE' };

const silent = () => new Promise<never>(() => undefined);

test('an error before the last answer or connection is no cause', async () => {
  for (const heal of ['answer', 'ready']) {
    const client = new Scripted();
    const bucket = bucketOn(client);
    client.emit('error', new Error('over'));
    if (heal === 'ready') client.emit('ready');
    else expect(await bucket.tryConsume()).toBe(true);
    client.answer = silent;
    const error = await bucket.tryConsume().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ERR_UNREACHABLE' });
    expect((error as Error).cause).toBeUndefined();
  }
});

describe('an onUnreachable that throws', () => {
  const rejecting = async () => {
    throw new Error('of the user');
  };
  const throwing = () => {
    throw new Error('of the user');
  };

  test.each([
    ['at once', throwing],
    ['later', rejecting],
  ])('%s rejects no call, and becomes a warning', async (_, onUnreachable) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const client = new Scripted();
    client.answer = silent;
    const bucket = bucketOn(client, { whenUnreachable: 'refuse', onUnreachable });
    expect(await bucket.tryConsume()).toBe(false);
    expect(await bucket.decide()).toMatchObject({ allowed: false });
    client.answer = async () => 1e15;
    while (!(await bucket.tryConsume()));
    client.answer = silent;
    expect(await bucket.tryConsume()).toBe(false);
    expect(warn.mock.calls).toEqual([
      ['onUnreachable failed: Error: of the user', 'ZerotimeWarning'],
    ]);
  });
});

describe('without the server', () => {
  test('every call counts, and only refusals count as refused', async () => {
    const client = new Scripted();
    client.answer = async () => Promise.reject(new Error('gone'));
    const bucket = bucketOn(client);
    const calls = () => [
      bucket.tryConsume(),
      bucket.decide(),
      bucket.consumeOrDrain(1),
      bucket.acquire(),
      bucket.reserve(),
      bucket.wait(),
    ];
    for (const call of calls()) await expect(call).rejects.toMatchObject(UNREACHABLE);
    expect(bucket.stats()).toMatchObject({ calls: 6, refused: 0, unreachable: 6 });
    const patient = bucketOn(client, { whenUnreachable: 'refuse' });
    await expect(patient.tryConsume()).resolves.toBe(false);
    await expect(patient.wait(1, { timeoutMs: 1 })).rejects.toMatchObject(UNREACHABLE);
    expect(patient.stats()).toMatchObject({ calls: 2, refused: 1 });
  });

  test('an abort is neither a refusal nor an outage, whatever its reason', async () => {
    const client = new Scripted();
    client.answer = silent;
    const onUnreachable = vi.fn();
    const patient = { whenUnreachable: 'refuse', timeoutMs: 60_000, onUnreachable } as const;
    const bucket = bucketOn(client, patient);
    const reasons = [
      new Error('enough'),
      new RateLimitError('ERR_UNREACHABLE', 'of another bucket'),
      new RateLimitError('ERR_RATE_LIMIT_TIMEOUT', 'of another bucket'),
    ];
    for (const reason of reasons) {
      const end = new AbortController();
      const waiting = bucket.wait(1, { signal: end.signal });
      end.abort(reason);
      await expect(waiting).rejects.toBe(reason);
    }
    expect(onUnreachable).not.toHaveBeenCalled();
    expect(bucket.stats()).toMatchObject({ calls: 3, refused: 0, isReachable: true });
  });

  test('an abort does not end an outage', async () => {
    const client = new Scripted();
    client.answer = async () => Promise.reject(new Error('gone'));
    const bucket = bucketOn(client, { whenUnreachable: 'refuse', timeoutMs: 60_000 });
    expect(await bucket.tryConsume()).toBe(false);
    let isAsked = false;
    client.answer = () => {
      isAsked = true;
      return silent();
    };
    const end = new AbortController();
    const reason = new RateLimitError('ERR_QUEUE_FULL', 'of another bucket');
    const waiting = bucket.wait(1, { signal: end.signal });
    await until(() => isAsked);
    end.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(bucket.stats().isReachable).toBe(false);
  });

  test('a localBucket on another clock reserves for an instant of the system clock', async () => {
    const client = new Scripted();
    client.answer = async () => Promise.reject(new Error('gone'));
    const clock = ManualClock.create({ nowMs: 5 });
    const localBucket = TokenBucket.create({ rate: 1, burst: 3, initial: 0, clock });
    const bucket = bucketOn(client, { whenUnreachable: 'local', localBucket });
    const beforeUs = systemClock.now();
    const reservation = await bucket.reserve(2);
    expect(reservation?.waitMs).toBe(2000);
    expect(reservation?.atUs).toBeGreaterThanOrEqual(beforeUs + 2e6);
    expect(reservation?.atUs).toBeLessThanOrEqual(systemClock.now() + 2e6);
    expect(localBucket.balance()).toBe(-2);
    expect(await reservation?.cancel()).toBe(true);
    expect(localBucket.balance()).toBe(0);
  });
});
