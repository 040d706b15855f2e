import type { PeerCase } from './peers.ts';

/** Packages that zerotime is installed beside, though an entry point needs newer ones. */
export interface OldPeer extends PeerCase {
  /** The message of the entry point's error. */
  readonly message: string;
}

/** A program that needs only the core of zerotime prints 3, and then the error of `use`. */
function programOf(use: string): string {
  return `
import { Region, TokenBucket } from 'zerotime';
const limiter = TokenBucket.create({ rate: 1e-3, burst: 3 });
console.log(limiter.consumeOrDrain(5));
try {
  ${use}
} catch ({ code, message }) {
  console.log(code, message);
}
process.exit();
`;
}

function old(entry: string, name: string, version: string, oldest: string, use: string): OldPeer {
  return {
    packages: [`${name}@${version}`],
    program: programOf(`const entry = await import('${entry}');\n  ${use}`),
    message: `${entry} needs ${name} ${oldest} or later, found ${version}`,
  };
}

const STORE = '{ region: Region.create(), capacity: 5 }';

/** The newest release before the oldest that each entry point needs, where that was in use. */
export const OLD_PEERS: readonly OldPeer[] = [
  old(
    'zerotime/redis',
    'redis',
    '3.1.2',
    '4.0.0',
    `const redis = (await import('redis')).default;
  const client = redis.createClient({ port: 1 }).on('error', () => {});
  entry.RedisTokenBucket.create({ client, key: 'a', rate: 1, burst: 1 });`,
  ),
  old(
    'zerotime/redis',
    'ioredis',
    '4.28.5',
    '5.0.0',
    `const Redis = (await import('ioredis')).default;
  const client = new Redis({ lazyConnect: true });
  entry.RedisTokenBucket.create({ client, key: 'a', rate: 1, burst: 1 });`,
  ),
  old('zerotime/undici', 'undici', '5.29.0', '6.10.0', 'entry.rateLimit({ limiter });'),
  old(
    'zerotime/tinypool',
    'tinypool',
    '0.8.4',
    '1.0.0',
    `const { Tinypool } = await import('tinypool');
  entry.throttle(new Tinypool({ filename: import.meta.url, minThreads: 0 }), limiter);`,
  ),
  old(
    'zerotime/http',
    'express-rate-limit',
    '6.11.2',
    '7.0.0',
    `entry.expressRateLimitStore(${STORE});`,
  ),
  {
    ...old(
      'zerotime/http',
      '@fastify/rate-limit',
      '9.1.0',
      '10.0.0',
      `entry.fastifyHook({ limiter });
  entry.fastifyRateLimitStore(${STORE});`,
    ),
    packages: ['fastify@4.29.1', '@fastify/rate-limit@9.1.0'],
  },
  {
    ...old('zerotime/opentelemetry/register', '@opentelemetry/sdk-node', '0.52.1', '0.200.0', ''),
    packages: ['@opentelemetry/sdk-node@0.52.1', '@opentelemetry/api@1.9.0'],
  },
];
