import { createHash } from 'node:crypto';
import type { Key } from '../../kernel/keyed/hash.ts';
import { shown } from '../../options.ts';

// Braces would select the cluster node, so user-chosen keys could overload a single node. Lone
// surrogates would all be sent as the same replacement character.
const UNFIT = /[%{}\p{Surrogate}]/gu;

/** Longer keys are hashed: each key takes the server's memory, and users may choose them. */
const MOST_CHARACTERS = 1024;

function escaped(sign: string): string {
  return `%${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

/** Whether the name of a key on the server is its hash. */
export function isLong(text: string): boolean {
  return text.length > MOST_CHARACTERS;
}

/** The escaped text of a key, or its hash. No escaped text begins with `%sha256`. */
function bounded(text: string): string {
  const fit = text.replace(UNFIT, escaped);
  if (!isLong(text)) return fit;
  return `%sha256:${createHash('sha256').update(fit).digest('hex')}`;
}

/**
 * The name of a key's bucket on the server. Keys are equal as in a `Map`: `'1'`, `1` and `1n`
 * differ.
 *
 * @throws TypeError for a key that is not a string, number or bigint.
 */
export function keyName(prefix: string, key: Key): string {
  switch (typeof key) {
    case 'string':
      return `${prefix}:${bounded(key)}`;
    case 'number':
      return `${prefix}:%number:${key}`;
    case 'bigint':
      return `${prefix}:%bigint:${bounded(key.toString(36))}`;
    default:
      throw new TypeError(`key must be a string, a number or a bigint, got ${shown(key)}`);
  }
}
