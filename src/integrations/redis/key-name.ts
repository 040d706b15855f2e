import type { Key } from '../../kernel/keyed/message.ts';
import { shown } from '../../options.ts';
import { checkName } from './redis-options.ts';

/**
 * Braces would choose the cluster's node, and one who can choose keys could send all of them to one;
 * half a surrogate pair is no text, and would be sent as the same sign as any other half.
 */
const UNFIT = /[%{}\p{Surrogate}]/gu;

function escaped(sign: string): string {
  return `%${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

/**
 * The name on the server of a key's bucket. Keys are the same where `Map` would say so: `'1'`, `1` and
 * `1n` are three.
 *
 * @throws TypeError for a key that is no string, number or bigint; RangeError for one of more than 1024
 * characters.
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
