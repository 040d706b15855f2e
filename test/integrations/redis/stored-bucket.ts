import {
  FIELDS,
  FORMATS,
  LIMIT_NUMBERS,
  LIMIT_STATE,
  PACKED,
  SEVERAL_FIELDS,
  TEXT_AT,
} from '../../../src/integrations/redis/script/format.ts';
import { ticksOfHalves } from '../../../src/integrations/redis/ticks.ts';
import type { Connection } from './connections.ts';

/** The numbers of a stored bucket. */
export type Fields = Record<(typeof FIELDS)[number], number>;

/** Reads the numbers of a stored bucket on the server: clients would read its bytes as text. */
export async function storedFields({ send }: Pick<Connection, 'send'>, key: string) {
  const script = `local words = {struct.unpack('${PACKED}', redis.call('GET', KEYS[1]) or error('no such key'))}
    words[#words] = nil
    for i, word in ipairs(words) do words[i] = string.format('%.17g', word) end
    return words`;
  const words = (await send('EVAL', script, '1', key)) as string[];
  return Object.fromEntries(FIELDS.map((name, i) => [name, Number(words[i])])) as Fields;
}

/** Overwrites numbers of a stored bucket. */
export async function changeFields(
  connection: Pick<Connection, 'send'>,
  key: string,
  change: Partial<Fields>,
): Promise<void> {
  const fields = { ...(await storedFields(connection, key)), ...change };
  const script = `local rest = string.sub(redis.call('GET', KEYS[1]), ${TEXT_AT})
    for i, word in ipairs(ARGV) do ARGV[i] = tonumber(word) end
    redis.call('SET', KEYS[1], struct.pack('${PACKED}', unpack(ARGV)) .. rest)`;
  await connection.send('EVAL', script, '1', key, ...FIELDS.map((name) => exact(fields[name])));
}

function exact(number: number): string {
  return number.toPrecision(17);
}

/** The zero-time of a stored bucket, in ticks. */
export async function storedZeroTime(connection: Pick<Connection, 'send'>, key: string) {
  const { zeroTime, high } = await storedFields(connection, key);
  return ticksOfHalves(high, zeroTime);
}

/** Whether the short way works with a stored bucket. */
export function isShort({ format }: Fields): boolean {
  return format === Number(FORMATS.short);
}

const NUMBERS_OF_A_LIMIT = LIMIT_STATE.length + LIMIT_NUMBERS.length;

/** Overwrites a number of a stored bucket with several limits; `place` counts from 0. */
export async function changeNumber(
  { send }: Pick<Connection, 'send'>,
  key: string,
  place: number,
  number: number,
): Promise<void> {
  const script = `redis.call('SETRANGE', KEYS[1], ARGV[1], struct.pack('<d', tonumber(ARGV[2])))`;
  await send('EVAL', script, '1', key, String(8 * place), exact(number));
}

/** Where the numbers of a stored bucket with this many limits stand, from 0. */
export function numbersOf(count: number) {
  const head = SEVERAL_FIELDS.length;
  const field = (name: (typeof SEVERAL_FIELDS)[number]) => SEVERAL_FIELDS.indexOf(name);
  const state = (i: number, name: (typeof LIMIT_STATE)[number]) =>
    head + LIMIT_STATE.length * i + LIMIT_STATE.indexOf(name);
  const number = (i: number, name: (typeof LIMIT_NUMBERS)[number]) =>
    head + LIMIT_STATE.length * count + LIMIT_NUMBERS.length * i + LIMIT_NUMBERS.indexOf(name);
  return { field, state, number, end: head + NUMBERS_OF_A_LIMIT * count };
}
