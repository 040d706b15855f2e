import { afterEach, describe, expect, test, vi } from 'vitest';
import { ServerNode } from '../../../src/integrations/redis/server-node.ts';
import { RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { systemClock } from '../../../src/time/system-clock.ts';
import { part, Random, SEED } from '../../support/random.ts';

const SECOND_US = 1e6;
const MINUTE_US = 60 * SECOND_US;

/** What the server's clock shows at an instant of ours: ahead of it, and slower or faster. */
function clock(aheadUs: number, drift: number) {
  return (ourUs: number) => aheadUs + ourUs * (1 + drift);
}

/** Answers a call that was executed between two instants of our clock. */
function answer(node: ServerNode, serverUs: number, sentUs: number, heardUs: number): void {
  node.tell(Math.floor(serverUs), sentUs, heardUs);
}

describe("the deadline by the server's clock", () => {
  // docs/redis.md: "This assumes that the server's clock is not set back"
  test('is never later than that of the call, whatever stalls', () => {
    const random = new Random(SEED);
    const upTo = (most: number) => (random.bits() / 2 ** 32) * most;
    for (let run = 0; run < part(2000, 100); run++) {
      const server = clock(upTo(2e15), upTo(2e-3) - 1e-3);
      const node = new ServerNode();
      const startUs = upTo(1e12);
      // Most trips are short; some stall on the way there, on the server, or on the way back.
      const trip = () => upTo(1) ** 8 * 10 * SECOND_US;
      const calls = Array.from({ length: 30 }, () => {
        const sentUs = startUs + upTo(MINUTE_US);
        const executedUs = sentUs + trip();
        return { sentUs, executedUs, heardUs: executedUs + trip() };
      });
      calls.sort((one, other) => one.heardUs - other.heardUs);
      for (const { sentUs, executedUs, heardUs } of calls) {
        answer(node, server(executedUs), sentUs, heardUs);
        const ends = [0, 1000, SECOND_US, 10 * MINUTE_US].map((timeoutUs) => heardUs + timeoutUs);
        const late = ends.filter((untilUs) => node.serverUs(untilUs) > server(untilUs));
        expect(late, `ZEROTIME_SEED=${SEED}`).toEqual([]);
      }
    }
  });

  test('is as early as the quickest answer, and a thousandth of the time since', () => {
    const node = new ServerNode();
    const server = clock(1e15, 0);
    answer(node, server(500), 0, 700);
    answer(node, server(2 * SECOND_US), SECOND_US, 5 * SECOND_US);
    const untilUs = 10 * SECOND_US;
    expect(server(untilUs) - node.serverUs(untilUs)).toBeCloseTo(200 + 10_000, -1);
  });

  test('is unknown, which is past, before the first answer and after a new connection', () => {
    const node = new ServerNode();
    expect(node.serverUs(MINUTE_US)).toBe(0);
    answer(node, 1e15, 0, 100);
    expect(node.serverUs(MINUTE_US)).toBeGreaterThan(1e15);
    node.reconnect();
    expect(node.serverUs(MINUTE_US)).toBe(0);
  });

  // docs/redis.md: "Until the next response, a call may take effect late"
  test('follows a clock that is set back from the first answer on', () => {
    const node = new ServerNode();
    const server = clock(1e15, 0);
    const behind = clock(1e15 - MINUTE_US, 0);
    answer(node, server(500), 0, 1000);
    const lateUs = node.serverUs(SECOND_US) - behind(SECOND_US);
    expect(lateUs).toBeGreaterThan(0);
    expect(lateUs).toBeLessThanOrEqual(MINUTE_US);
    answer(node, behind(2500), 2000, 3000);
    expect(node.serverUs(SECOND_US)).toBeLessThanOrEqual(behind(SECOND_US));
    expect(node.serverUs(SECOND_US)).toBeGreaterThan(behind(SECOND_US) - 2000);
  });
});

describe('a call after one that stalled for 4 s', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test('is sent with a deadline at which it has not ended yet', async () => {
    let nowUs = 1e12;
    vi.spyOn(systemClock, 'now').mockImplementation(() => nowUs);
    const server = clock(1e15, 0);
    const deadlines: number[] = [];
    let stallUs = 0;
    const evalSha = async (_: string, { arguments: words }: { arguments: string[] }) => {
      const deadlineUs = Number(words[2]);
      deadlines.push(deadlineUs);
      nowUs += stallUs;
      const executedUs = server(nowUs);
      return executedUs > deadlineUs ? [-1, executedUs] : executedUs;
    };
    const bucket = RedisTokenBucket.create({
      client: { evalSha, eval: async () => 0, on: () => undefined },
      key: 'a',
      rate: 1,
      burst: 50,
      timeoutMs: 5000,
    });
    expect(await bucket.tryConsume()).toBe(true);
    stallUs = 4 * SECOND_US;
    expect(await bucket.tryConsume()).toBe(true);
    stallUs = 0;
    const untilUs = nowUs + 5 * SECOND_US;
    expect(await bucket.tryConsume()).toBe(true);
    expect(deadlines.at(-1)).toBeLessThanOrEqual(server(untilUs));
    expect(deadlines.at(-1)).toBeGreaterThan(server(untilUs) - SECOND_US / 10);
  });
});
