import { type Attributes, diag, ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import { expect, test, vi } from 'vitest';
import { ManualClock } from '../../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  type OperationOf,
} from '../../../src/integrations/opentelemetry.ts';
import { isKept, LOWEST } from './spans.ts';

/** Which of the spans a sampler keeps by the minima of their operations, one for each. */
function keptOf(
  operation: string | OperationOf | undefined,
  spans: readonly (readonly [name: string, attributes: Attributes])[],
): boolean[] {
  const sampler = ConsistentRateLimitingSampler.create({
    ...{ rate: 100, minimum: 1, minimumBurst: 1, clock: ManualClock.create() },
    ...(operation === undefined ? {} : { operation }),
  });
  const ask = (name: string, attributes: Attributes) =>
    isKept(sampler.shouldSample(ROOT_CONTEXT, LOWEST, name, SpanKind.SERVER, attributes));
  for (let i = 0; i < 1000; i++) ask('hot', { route: 'hot', code: 0 });
  return spans.map(([name, attributes]) => ask(name, attributes));
}

const SPANS = [
  ['GET', { route: '/a', code: 1 }],
  ['GET', { route: '/b', code: 1 }],
  ['PUT', { route: '/a', code: 2 }],
  ['POST', {}],
  ['POST', {}],
] as const;

test.each<[string, string | OperationOf | undefined, boolean[]]>([
  ['the name of the span, by default', undefined, [true, false, true, true, false]],
  ['an attribute, or the name of a span without it', 'route', [true, true, false, true, false]],
  ['an attribute that is a number', 'code', [true, false, true, true, false]],
  [
    'what a function says',
    (_context, name, kind, { route }) => `${name} ${kind} ${route}`,
    [true, true, true, true, false],
  ],
])('an operation is %s', (_, operation, kept) => {
  expect(keptOf(operation, SPANS)).toEqual(kept);
});

test('a function that throws is reported once, and the name of the span counts', () => {
  const error = vi.spyOn(diag, 'error').mockReturnValue();
  const broken = () => {
    throw new Error('broken');
  };
  expect(keptOf(broken, SPANS)).toEqual([true, false, true, true, false]);
  expect(error).toHaveBeenCalledOnce();
});

test('anything that a function returns becomes a string', () => {
  const odd = ((_context: unknown, name: string) =>
    name === 'GET' ? 7 : undefined) as unknown as OperationOf;
  expect(keptOf(odd, SPANS)).toEqual([true, false, false, false, false]);
});

test('names the invalid option', () => {
  expect(() => keptOf(1 as unknown as string, [])).toThrow(
    'operation must be the name of an attribute or a function, got 1',
  );
});
