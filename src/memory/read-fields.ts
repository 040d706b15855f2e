import { HandleError } from '../errors.ts';
import { shown } from '../options.ts';

/**
 * Reads fields of an untrusted value, each once: a getter or proxy may throw, or return another
 * value the next time.
 *
 * @throws HandleError `ERR_HANDLE_INVALID`
 */
export function readFields<Name extends string>(
  what: string,
  value: unknown,
  ...names: readonly Name[]
): Record<Name, unknown> {
  if (typeof value !== 'object' || value === null) {
    throw new HandleError('ERR_HANDLE_INVALID', `${what} must be an object, got ${shown(value)}`);
  }
  try {
    const fields = names.map((name) => [name, (value as Record<Name, unknown>)[name]]);
    return Object.fromEntries(fields) as Record<Name, unknown>;
  } catch (cause) {
    throw new HandleError('ERR_HANDLE_INVALID', `${what} cannot be read`, { cause });
  }
}
