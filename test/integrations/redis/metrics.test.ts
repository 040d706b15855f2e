import { expect, onTestFinished, test } from 'vitest';
import { RedisKeyedTokenBucket, RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { scene as collectedScene } from '../opentelemetry/collected-metrics.ts';
import { scene, scraped } from '../scrape.ts';
import { fleetOf } from './fleet-source.ts';

/** A server that admits the first `admitted` calls, and can end. */
function server(admitted: number) {
  let left = admitted;
  const state = { isDown: false };
  const answer = async () => {
    if (state.isDown) throw new Error('connect ECONNREFUSED');
    return left-- > 0 ? 1e15 : -1e15;
  };
  return { state, client: { evalSha: answer, eval: answer, on: () => undefined } };
}

/** Errors that would end the process. */
function unhandled(): unknown[] {
  const errors: unknown[] = [];
  const hear = (error: unknown) => errors.push(error);
  process.on('unhandledRejection', hear);
  onTestFinished(() => void process.off('unhandledRejection', hear));
  return errors;
}

// docs/integrations.md: "A scrape never asks the server"
test('a bucket on a server exports its calls, its commands and its health, without a command', async () => {
  const { register, metrics } = scene();
  const { client, state } = server(2);
  const errors = unhandled();
  const bucket = RedisTokenBucket.create({ client, key: 'orders', rate: 5, burst: 2 });
  metrics.add('orders', bucket);
  await bucket.tryConsume();
  await bucket.tryConsume();
  await bucket.tryConsume();
  expect(await scraped(register)).toEqual([
    'zerotime_calls_total{limiter="orders"} 3',
    'zerotime_admitted_tokens_total{limiter="orders"} 2',
    'zerotime_refused_calls_total{limiter="orders"} 1',
    'zerotime_commands_total{limiter="orders"} 3',
    'zerotime_unanswered_calls_total{limiter="orders"} 0',
    'zerotime_rate_tokens_per_second{limiter="orders"} 5',
    'zerotime_burst_tokens{limiter="orders"} 2',
    'zerotime_waiting_callers{limiter="orders"} 0',
    'zerotime_reachable{limiter="orders"} 1',
    'zerotime_damaged{limiter="orders"} 0',
  ]);
  state.isDown = true;
  expect(await bucket.tryConsume()).toBe(false);
  const lines = await scraped(register);
  expect(lines).toEqual(
    expect.arrayContaining([
      'zerotime_calls_total{limiter="orders"} 4',
      'zerotime_refused_calls_total{limiter="orders"} 2',
      'zerotime_commands_total{limiter="orders"} 4',
      'zerotime_unanswered_calls_total{limiter="orders"} 1',
      'zerotime_reachable{limiter="orders"} 0',
    ]),
  );
  expect(await scraped(register)).toEqual(lines);
  expect(errors).toEqual([]);
});

test('buckets by key export the calls of all keys', async () => {
  const { register, metrics } = scene();
  const { client } = server(2);
  const perUser = RedisKeyedTokenBucket.create({ client, prefix: 'users', rate: 5, burst: 2 });
  metrics.add('users', perUser);
  for (const user of ['ann', 'bob', 'eve']) await perUser.tryConsume(user);
  expect(await scraped(register)).toEqual(
    expect.arrayContaining([
      'zerotime_calls_total{limiter="users"} 3',
      'zerotime_admitted_tokens_total{limiter="users"} 2',
      'zerotime_commands_total{limiter="users"} 3',
      'zerotime_rate_tokens_per_second{limiter="users"} 5',
      'zerotime_reachable{limiter="users"} 1',
    ]),
  );
});

test('OpenTelemetry gets the same values', async () => {
  const { metrics, valuesOf } = collectedScene();
  const { client, state } = server(1);
  const bucket = RedisTokenBucket.create({ client, key: 'orders', rate: 5, burst: 2 });
  metrics.add('orders', bucket);
  await bucket.tryConsume();
  state.isDown = true;
  await bucket.tryConsume();
  expect(await valuesOf('orders')).toMatchObject({
    'limiter.calls': 2,
    'limiter.token.admitted': 1,
    'limiter.call.refused': 1,
    'limiter.command.sent': 2,
    'limiter.call.unanswered': 1,
    'limiter.reachable': 0,
  });
});

test('a fleet bucket exports its purchases, its calls and its health', async () => {
  const { register, metrics } = scene();
  const { fleet, process: counted } = await fleetOf({ stock: 100, minStock: 10, stats: true });
  const uncounted = await fleet.join({ stock: 100, minStock: 10 });
  metrics.add('hot', counted);
  metrics.add('cold', uncounted);
  counted.tryConsume(4);
  counted.tryConsume(50);
  const lines = await scraped(register);
  expect(lines.filter((line) => line.includes('hot'))).toEqual([
    'zerotime_calls_total{limiter="hot"} 2',
    'zerotime_admitted_tokens_total{limiter="hot"} 4',
    'zerotime_refused_calls_total{limiter="hot"} 1',
    'zerotime_failed_exchanges_total{limiter="hot"} 0',
    'zerotime_unanswered_calls_total{limiter="hot"} 0',
    'zerotime_fleet_purchases_total{limiter="hot"} 1',
    'zerotime_fleet_bought_tokens_total{limiter="hot"} 10',
    'zerotime_fleet_returned_tokens_total{limiter="hot"} 0',
    'zerotime_burst_tokens{limiter="hot"} 100',
    'zerotime_available_tokens{limiter="hot"} 6',
    'zerotime_waiting_callers{limiter="hot"} 0',
    'zerotime_reachable{limiter="hot"} 1',
    'zerotime_damaged{limiter="hot"} 0',
  ]);
  expect(lines).toContain('zerotime_fleet_bought_tokens_total{limiter="cold"} 10');
  expect(lines.filter((line) => /calls.*cold/.test(line))).toEqual([
    'zerotime_unanswered_calls_total{limiter="cold"} 0',
  ]);
  fleet.source.isDown = true;
  await fleet.pass(60);
  expect(await scraped(register)).toEqual(
    expect.arrayContaining([
      'zerotime_unanswered_calls_total{limiter="hot"} 1',
      'zerotime_reachable{limiter="hot"} 0',
    ]),
  );
});
