import { expect, test } from 'vitest';
import { strategyIn } from '../../../../src/integrations/opentelemetry/remote/strategy.ts';
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
