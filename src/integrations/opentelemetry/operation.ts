import { type Attributes, type Context, diag, type SpanKind } from '@opentelemetry/api';
import { shown } from '../../options.ts';

/** Names the operation of a starting span. The arguments are those of a sampler. */
export type OperationOf = (
  context: Context,
  spanName: string,
  spanKind: SpanKind,
  attributes: Attributes,
) => string;

const byName: OperationOf = (_context, spanName) => `${spanName}`;

function byAttribute(name: string): OperationOf {
  return (_context, spanName, _spanKind, attributes) => {
    const value = attributes[name];
    return value === undefined ? `${spanName}` : `${value}`;
  };
}

/** Falls back to the span's name if the function throws: a sampler must never throw. */
function guarded(own: OperationOf): OperationOf {
  let isReported = false;
  return (context, spanName, spanKind, attributes) => {
    try {
      return `${own(context, spanName, spanKind, attributes)}`;
    } catch (error) {
      if (!isReported) diag.error('zerotime: operation() threw; using the name of the span', error);
      isReported = true;
      return `${spanName}`;
    }
  };
}

/** @throws TypeError if the option is neither a function nor a string. */
export function operationOf(option: string | OperationOf | undefined): OperationOf {
  if (option === undefined) return byName;
  if (typeof option === 'string') return byAttribute(option);
  if (typeof option === 'function') return guarded(option);
  throw new TypeError(
    `operation must be the name of an attribute or a function, got ${shown(option)}`,
  );
}
