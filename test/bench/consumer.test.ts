import { expect, test } from 'vitest';
import { asking, calling } from '../../bench/consumer.ts';

test('every call and every admission is counted', async () => {
  let calls = 0;
  const report = await calling(() => ++calls % 4 === 0)(1);
  expect(report.calls).toBe(calls);
  expect(report.admitted).toBe(Math.floor(calls / 4));
  expect(report.elapsedNs).toBeGreaterThanOrEqual(1e6);
});

test.each([1, 8, 64])('%i async calls are in flight at a time', async (inFlight) => {
  let calls = 0;
  let underWay = 0;
  let most = 0;
  const ask = async () => {
    calls++;
    most = Math.max(most, ++underWay);
    await new Promise(setImmediate);
    underWay--;
    return true;
  };
  const report = await asking(ask, inFlight)(1);
  expect(most).toBe(inFlight);
  expect(report).toMatchObject({ calls, admitted: calls });
});
