import {
  FIELDS,
  LIMIT_FIELDS,
  NO_SHORT_PATH,
} from '../../../src/integrations/redis/script/format.ts';
import { ticksOfHalves } from '../../../src/integrations/redis/ticks.ts';
import type { Connection } from './connections.ts';

const ALL_FIELDS = [...FIELDS, ...LIMIT_FIELDS] as const;
const PACKED = `<${'d'.repeat(ALL_FIELDS.length)}`;

/** The numbers of a stored bucket with one limit. */
export type Fields = Record<(typeof ALL_FIELDS)[number], number>;

/** The doubles at the start of a stored bucket with one limit, or of a part of it. */
export function fieldsOf(bytes: Buffer, first = 0): Partial<Fields> {
  const names = ALL_FIELDS.slice(first, first + (bytes.length >> 3));
  return Object.fromEntries(names.map((name, i) => [name, bytes.readDoubleLE(8 * i)]));
}

/** Reads the numbers of a stored bucket on the server: clients would read its bytes as text. */
export async function storedFields({ send }: Pick<Connection, 'send'>, key: string) {
  const script = `local words = {struct.unpack('${PACKED}', redis.call('GET', KEYS[1]) or error('no such key'))}
    words[#words] = nil
    for i, word in ipairs(words) do words[i] = string.format('%.17g', word) end
    return words`;
  const words = (await send('EVAL', script, '1', key)) as string[];
  return Object.fromEntries(ALL_FIELDS.map((name, i) => [name, Number(words[i])])) as Fields;
}

/** Overwrites numbers of a stored bucket, those of its limit `i`. */
export async function changeFields(
  { send }: Pick<Connection, 'send'>,
  key: string,
  change: Partial<Fields>,
  i = 0,
): Promise<void> {
  const script = `redis.call('SETRANGE', KEYS[1], ARGV[1], struct.pack('<d', tonumber(ARGV[2])))`;
  for (const [place, name] of ALL_FIELDS.entries()) {
    const number = change[name];
    const offset = 8 * (place < FIELDS.length ? place : place + i * LIMIT_FIELDS.length);
    if (number !== undefined) {
      await send('EVAL', script, '1', key, String(offset), number.toPrecision(17));
    }
  }
}

/** The zero-time of a stored bucket, in ticks. */
export async function storedZeroTime(connection: Pick<Connection, 'send'>, key: string) {
  const { low, high } = await storedFields(connection, key);
  return ticksOfHalves(high, low);
}

/** Whether the short path works with a stored bucket. */
export function isShort({ high, cap }: Fields): boolean {
  return high === 0 && cap !== NO_SHORT_PATH;
}
