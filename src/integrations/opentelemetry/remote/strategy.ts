import { checkNumber, shown } from '../../../options.ts';

// Parses responses of Jaeger's sampling endpoint. The fields are defined in
// https://github.com/jaegertracing/jaeger-idl/blob/main/proto/api_v2/sampling.proto

/** A sampling strategy for a service. */
export interface Strategy {
  /** The default probability; undefined: only the limit decides. */
  readonly probability?: number;
  /** Spans per second over all operations; undefined: no limit. */
  readonly rate?: number;
  /** Minimum spans per second of each operation; 0: none. */
  readonly minimum: number;
  /** The probabilities of operations, by name. */
  readonly operations: readonly (readonly [operation: string, probability: number])[];
}

const PROBABILITY = { min: 0, max: 1 } as const;
/** The least rate of a bucket. */
const LEAST_RATE = 1e-6;
const MOST_RATE = 4e9;

type Fields = Readonly<Record<string, unknown>>;

/** An object; undefined if the field is missing, or null as written by some servers. */
function fieldsOf(name: string, value: unknown): Fields | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new TypeError(`${name} must be an object, got ${shown(value)}`);
  }
  return value as Fields;
}

/** A number; 0 if missing, because protobuf's JSON omits zeros. */
function numberOf(name: string, value: unknown, range: { min: number; max?: number }): number {
  return checkNumber(name, value ?? 0, range);
}

/** Spans per second: 0, or a valid rate of a bucket. */
function rateOf(name: string, value: unknown): number {
  const rate = numberOf(name, value, { min: 0 });
  if (rate > 0) checkNumber(name, rate, { min: LEAST_RATE });
  return Math.min(rate, MOST_RATE);
}

function probabilityOf(name: string, strategy: unknown): number {
  const { samplingRate } = fieldsOf(name, strategy) ?? {};
  return numberOf(`${name}.samplingRate`, samplingRate, PROBABILITY);
}

function operationOf(value: unknown, i: number): readonly [string, number] {
  const name = `perOperationStrategies[${i}]`;
  const fields = fieldsOf(name, value) ?? {};
  const { operation = '' } = fields;
  if (typeof operation !== 'string') {
    throw new TypeError(`${name}.operation must be a string, got ${shown(operation)}`);
  }
  const { probabilisticSampling } = fields;
  return [operation, probabilityOf(`${name}.probabilisticSampling`, probabilisticSampling)];
}

function perOperation(fields: Fields): Strategy {
  const operations = fields['perOperationStrategies'] ?? [];
  if (!Array.isArray(operations)) {
    throw new TypeError(`perOperationStrategies must be an array, got ${shown(operations)}`);
  }
  const name = 'defaultSamplingProbability';
  const upper = 'defaultUpperBoundTracesPerSecond';
  const lower = 'defaultLowerBoundTracesPerSecond';
  const rate = rateOf(upper, fields[upper]);
  return {
    probability: numberOf(name, fields[name], PROBABILITY),
    ...(rate > 0 ? { rate } : {}),
    minimum: rateOf(lower, fields[lower]),
    operations: operations.map(operationOf),
  };
}

/**
 * Parses a server's response. As Jaeger recommends, the field that is present determines the kind,
 * not `strategyType`.
 *
 * @throws Error if there is no strategy, or one of its values is invalid.
 */
export function strategyIn(answer: string): Strategy {
  const fields = fieldsOf('the response', JSON.parse(answer)) ?? {};
  const { probabilisticSampling, rateLimitingSampling } = fields;
  const operations = fieldsOf('operationSampling', fields['operationSampling']);
  if (operations !== undefined) return perOperation(operations);
  const none = { minimum: 0, operations: [] };
  if (fieldsOf('probabilisticSampling', probabilisticSampling) !== undefined) {
    return { ...none, probability: probabilityOf('probabilisticSampling', probabilisticSampling) };
  }
  const limited = fieldsOf('rateLimitingSampling', rateLimitingSampling);
  if (limited === undefined) throw new TypeError('the response has no strategy');
  const rate = rateOf('maxTracesPerSecond', limited['maxTracesPerSecond']);
  // A bucket with rate 0 would still admit the tokens it holds.
  return rate > 0 ? { ...none, rate } : { ...none, probability: 0 };
}
