import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/index.ts';
import { strategyIn } from '../../../../src/integrations/opentelemetry/remote/strategy.ts';
import { StrategyBoard } from '../../../../src/integrations/opentelemetry/remote/strategy-board.ts';
import { STRATEGY_BOARD, STRATEGY_PLACE } from '../../../../src/memory/layout.ts';
import { PER_OPERATION, PROBABILISTIC, RATE_LIMITING } from './strategy-server.ts';

const NONE = { minimum: 0, operations: [] };

test.each<[string, string | object, object]>([
  ['a probability', PROBABILISTIC, { ...NONE, probability: 0.5 }],
  ['a rate', RATE_LIMITING, { ...NONE, rate: 20 }],
  [
    'operations',
    PER_OPERATION,
    {
      probability: 0.25,
      minimum: 2,
      operations: [
        ['GET /users', 0.5],
        ['GET /health', 0],
      ],
    },
  ],
  // The comments of sampling.proto: "ignore this field and instead checks the other fields being
  // not null (starting with operationSampling)".
  [
    'operations, whatever else there is',
    {
      strategyType: 'RATE_LIMITING',
      rateLimitingSampling: { maxTracesPerSecond: 1 },
      probabilisticSampling: { samplingRate: 1 },
      operationSampling: {
        defaultSamplingProbability: 0.1,
        defaultUpperBoundTracesPerSecond: 30,
      },
    },
    { probability: 0.1, rate: 30, minimum: 0, operations: [] },
  ],
  // Protobuf's JSON leaves zeros out; others write null for fields that are not set.
  ['zeros that are left out', { probabilisticSampling: {} }, { ...NONE, probability: 0 }],
  [
    'fields that are null',
    {
      strategyType: 1,
      operationSampling: null,
      probabilisticSampling: null,
      rateLimitingSampling: { maxTracesPerSecond: 5 },
    },
    { ...NONE, rate: 5 },
  ],
  ['operations, all of them empty', { operationSampling: {} }, { ...NONE, probability: 0 }],
  [
    'an operation with zeros left out',
    { operationSampling: { perOperationStrategies: [{}, null] } },
    {
      ...NONE,
      probability: 0,
      operations: [
        ['', 0],
        ['', 0],
      ],
    },
  ],
  ['a rate of 0, which keeps nothing', { rateLimitingSampling: {} }, { ...NONE, probability: 0 }],
  [
    'a rate beyond all buckets',
    { rateLimitingSampling: { maxTracesPerSecond: 1e12 } },
    { ...NONE, rate: 4e9 },
  ],
])('reads %s', (_, answer, strategy) => {
  expect(strategyIn(typeof answer === 'string' ? answer : JSON.stringify(answer))).toEqual(
    strategy,
  );
});

test.each<[string, string]>([
  ['', 'JSON'],
  ['<html>busy</html>', 'JSON'],
  ['{"probabilisticSampling":{"samplingRate":0.5}', 'JSON'],
  ['null', 'the response has no strategy'],
  ['{}', 'the response has no strategy'],
  ['{"strategyType":"PROBABILISTIC"}', 'the response has no strategy'],
  ['[1]', 'the response must be an object, got an array'],
  ['7', 'the response must be an object, got 7'],
  ['{"probabilisticSampling":0.5}', 'probabilisticSampling must be an object, got 0.5'],
  [
    '{"probabilisticSampling":{"samplingRate":1.5}}',
    'probabilisticSampling.samplingRate must be a number at least 0 and at most 1, got 1.5',
  ],
  ['{"probabilisticSampling":{"samplingRate":"1"}}', 'got "1"'],
  ['{"probabilisticSampling":{"samplingRate":-0.1}}', 'got -0.1'],
  ['{"rateLimitingSampling":{"maxTracesPerSecond":-5}}', 'maxTracesPerSecond must be a number'],
  ['{"rateLimitingSampling":{"maxTracesPerSecond":1e-9}}', 'at least 0.000001, got 1e-9'],
  ['{"rateLimitingSampling":{"maxTracesPerSecond":1e999}}', 'got Infinity'],
  ['{"operationSampling":[]}', 'operationSampling must be an object, got an array'],
  ['{"operationSampling":{"perOperationStrategies":{}}}', 'must be an array, got an object'],
  ['{"operationSampling":{"perOperationStrategies":[1]}}', 'perOperationStrategies[0] must be an'],
  [
    '{"operationSampling":{"perOperationStrategies":[{},{"operation":1}]}}',
    'perOperationStrategies[1].operation must be a string, got 1',
  ],
  [
    '{"operationSampling":{"perOperationStrategies":[{"probabilisticSampling":{"samplingRate":2}}]}}',
    'perOperationStrategies[0].probabilisticSampling.samplingRate must be a number',
  ],
  ['{"operationSampling":{"defaultSamplingProbability":true}}', 'got true'],
  ['{"operationSampling":{"defaultLowerBoundTracesPerSecond":-1}}', 'LowerBound'],
  ['{"operationSampling":{"defaultUpperBoundTracesPerSecond":"x"}}', 'UpperBound'],
])('rejects nonsense: %s', (answer, message) => {
  expect(() => strategyIn(answer)).toThrow(message);
});

function boards(maxBytes = 1000) {
  const one = StrategyBoard.create(maxBytes);
  return { one, other: StrategyBoard.attach(one.buffer), words: new Int32Array(one.buffer) };
}

test('shows each text to all attached threads', () => {
  const { one, other } = boards();
  expect(other.version).toBe(0);
  for (const [i, text] of ['first', 'sécond ☃', '', 'x'.repeat(1000)].entries()) {
    one.write(text);
    expect(other.version).toBe(i + 1);
    expect(other.read()).toBe(text);
  }
});

test('reads nothing that is not whole', () => {
  const { one, other, words } = boards();
  one.write('some text');
  const at = STRATEGY_BOARD.places + (words.length * 4 - STRATEGY_BOARD.places) / 2;
  const bytes = new Uint8Array(one.buffer);
  bytes[at + STRATEGY_PLACE.text] = 0x53;
  expect(other.read()).toBeUndefined();
  one.write('another');
  expect(other.read()).toBe('another');
  for (const length of [-1, 1 << 20]) {
    words[(STRATEGY_BOARD.places + STRATEGY_PLACE.length) >> 2] = length;
    expect(other.read()).toBeUndefined();
  }
});

test('one thread at a time writes; one that ended while it did is passed over after a second', () => {
  const now = vi.spyOn(systemClock, 'now');
  const { one, other } = boards();
  now.mockReturnValue(5_000_000_000);
  const mine = one.lock();
  expect(mine).toBeGreaterThan(0);
  expect(other.lock()).toBe(0);
  one.unlock(mine);
  const second = other.lock();
  expect(second).toBeGreaterThan(0);
  now.mockReturnValue(5_000_999_000);
  expect(one.lock()).toBe(0);
  now.mockReturnValue(5_001_000_000);
  const third = one.lock();
  expect(third).toBeGreaterThan(0);
  other.unlock(second); // comes too late
  expect(other.lock()).toBe(0);
  one.unlock(third);
  now.mockReturnValue(2 ** 30 * 1000); // 0 milliseconds in the word
  expect(one.lock()).toBe(1);
});

test('each turn is taken once, and later questions come later', () => {
  const { one, other } = boards();
  expect([one.takeTurn(5), other.takeTurn(5), other.takeTurn(6), one.takeTurn(6)]).toEqual([
    ...[true, false, true, false],
  ]);
  expect(other.takeTurn(5)).toBe(false);
  expect([one.takeTurn(2 ** 31 - 1), other.takeTurn(-(2 ** 31))]).toEqual([true, true]);
  const first = one.ask();
  const second = other.ask();
  expect(other.polls).toBe(2);
  expect(other.isNewest(second)).toBe(true);
  expect(one.isNewest(first)).toBe(false);
  expect(one.isNewest(second)).toBe(false);
  one.fail();
  expect(other.failures).toBe(1);
});

test.each([
  undefined,
  {},
  new ArrayBuffer(1024),
  new SharedArrayBuffer(64),
  new SharedArrayBuffer(1001),
])('rejects what is not a board: %s', (buffer) => {
  expect(() => StrategyBoard.attach(buffer)).toThrow("not a remote sampler's board");
});
