import type { Key } from '../../kernel/keyed/message.ts';
import { shown } from '../../options.ts';
import { checkName } from './redis-options.ts';

// Braces would select the cluster node, so user-chosen keys could overload a single node. Lone
// surrogates would all be sent as the same replacement character.
const UNFIT = /[%{}\p{Surrogate}]/gu;

function escaped(sign: string): string {
  return `%${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

/**
 * The name of a key's bucket on the server. Keys are equal as in a `Map`: `'1'`, `1` and `1n`
 * differ.
 *
 * @throws TypeError for a key that is not a string, number or bigint; RangeError for one longer
 * than 1024 characters.
 */
export function keyName(prefix: string, key: Key): string {
  switch (typeof key) {
    case 'string':
      if (key !== '') checkName('key', key);
      return `${prefix}:${key.replace(UNFIT, escaped)}`;
    case 'number':
      return `${prefix}:%number:${key}`;
    case 'bigint':
      return `${prefix}:%bigint:${checkName('key', key.toString(36))}`;
    default:
      throw new TypeError(`key must be a string, a number or a bigint, got ${shown(key)}`);
  }
}
