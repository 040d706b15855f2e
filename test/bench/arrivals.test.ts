import { expect, test } from 'vitest';
import { ArrivalServer, arrivalsOf } from '../../bench/arrivals.ts';

test('requests are counted per time slice from the first one on, and per connection', () => {
  const startUs = 5e12;
  const at = (ms: number, connection: number) => ({ atUs: startUs + ms * 1000, connection });
  const came = [at(0, 1), at(99.9, 2), at(100, 1), at(350, 1), at(399, 2), at(400, 2)];
  expect(arrivalsOf(came, 400, 100)).toEqual({
    count: 6,
    slices: [2, 1, 0, 2],
    connections: [3, 3],
  });
});

test('without arrivals every slice is empty', () => {
  expect(arrivalsOf([], 300, 100)).toEqual({ count: 0, slices: [0, 0, 0], connections: [] });
});

test('the server records each request once', async () => {
  const server = await ArrivalServer.listen();
  try {
    for (let i = 0; i < 3; i++) expect(await (await fetch(server.url)).text()).toBe('zerotime\n');
    const came = server.take();
    expect(came).toHaveLength(3);
    const instants = came.map(({ atUs }) => atUs);
    expect(instants).toEqual(instants.toSorted((a, b) => a - b));
    expect(server.take()).toEqual([]);
  } finally {
    server.close();
  }
});
