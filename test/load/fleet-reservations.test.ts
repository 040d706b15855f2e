import { expect, onTestFinished, test } from 'vitest';
import { RateLimitError, systemClock } from '../../src/index.ts';
import { ServerNode } from '../../src/integrations/redis/server-node.ts';
import { FleetReservations, type FleetReservationsOptions } from '../../src/load/plan/fleet.ts';
import { until } from '../support/settled.ts';

/** The server's clock, which is not that of this process. */
const AHEAD_US = 5e9;
/** Longer than a turn of the event loop takes on a busy machine. */
const OUTAGE_US = 400_000;

type Answer = { readonly waitUs: number; readonly nowUs: number };

/** A server's bucket that answers calls when the test says so. */
class Server {
  readonly waits: number[] = [];
  readonly #answers: ((answer: Answer | Error) => void)[] = [];
  readonly bucket = {
    node: new ServerNode(),
    acquire: (_n: number, maxWaitUs: number) => {
      this.waits.push(maxWaitUs);
      return new Promise<Answer>((resolve, reject) =>
        this.#answers.push((answer) =>
          answer instanceof Error ? reject(answer) : resolve(answer),
        ),
      );
    },
  };

  /** Calls that have not been answered. */
  get asked(): number {
    return this.#answers.length;
  }

  answer(answer: Answer | Error): void {
    this.#answers.shift()?.(answer);
  }
}

function start(server: Server, more: Partial<FleetReservationsOptions> = {}) {
  const bought: number[] = [];
  const nowUs = systemClock.now();
  const reservations = new FleetReservations({
    fleet: server as never, // what it uses of both
    aheadUs: AHEAD_US,
    stock: 2,
    startUs: nowUs - 1,
    endUs: nowUs + 60e6,
    onBought: () => bought.push(server.asked),
    ...more,
  });
  onTestFinished(() => reservations.close());
  return { reservations, bought, nowUs };
}

const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

test('holds a stock of reservations, each due by the clock of this process', async () => {
  const server = new Server();
  const { reservations, bought } = start(server);
  expect(reservations.reserve()).toBeUndefined();
  await until(() => server.asked === 2);
  server.answer({ waitUs: 30, nowUs: AHEAD_US + 1000 });
  server.answer({ waitUs: 70, nowUs: AHEAD_US + 1000 });
  await until(() => bought.length === 2);
  expect(server.asked).toBe(0);
  expect(reservations.reserve()).toEqual({ dueUs: 1030 });
  expect(reservations.reserve()).toEqual({ dueUs: 1070 });
  expect(reservations.reserve()).toBeUndefined();
  expect(server.asked).toBe(2);
  expect(server.waits).toEqual(Array.from({ length: 4 }, () => Number.POSITIVE_INFINITY));
});

test('buys nothing before the start, and nothing if it is closed before', async () => {
  const server = new Server();
  const { reservations } = start(server, { startUs: systemClock.now() + 60e6 });
  expect(reservations.reserve()).toBeUndefined();
  reservations.close();
  await turn();
  expect(server.asked).toBe(0);
});

test('buys no more once a reservation is due after the end, or when it is closed', async () => {
  const server = new Server();
  const { reservations, bought, nowUs } = start(server, { stock: 1 });
  await until(() => server.asked === 1);
  server.answer({ waitUs: 61e6, nowUs: nowUs + AHEAD_US });
  await until(() => bought.length === 1);
  expect(reservations.reserve()?.dueUs).toBeCloseTo(nowUs + 61e6, 0);
  expect(server.asked).toBe(0);
  const other = start(server, { stock: 1 });
  await until(() => server.asked === 1);
  other.reservations.close();
  server.answer(new Error('the client was closed'));
  await turn();
  expect(other.reservations.reserve()).toBeUndefined();
  expect([server.asked, other.bought]).toEqual([0, []]);
});

test('waits while the server is unreachable, and asks again', async () => {
  const server = new Server();
  const { reservations, bought } = start(server, { stock: 1 });
  await until(() => server.asked === 1);
  const failure = new RateLimitError('ERR_UNREACHABLE', 'the server does not answer');
  const { node } = server.bucket;
  node.fail(failure, true);
  const retryAtUs = systemClock.now() + OUTAGE_US;
  // Another call tries the server until then.
  await node.admit(node.retryAtUs, retryAtUs);
  server.answer(failure);
  await turn();
  expect(reservations.reserve()).toBeUndefined();
  expect([server.asked, bought]).toEqual([0, []]);
  await until(() => bought.length === 1);
  expect(systemClock.now()).toBeGreaterThanOrEqual(retryAtUs);
  expect(reservations.reserve()).toBeUndefined();
  expect(server.asked).toBe(1);
});
