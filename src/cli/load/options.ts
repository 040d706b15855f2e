import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { type Header, MAX_RATE, MIN_RATE, type Ramp } from '../../load/options.ts';
import { isHeader, isMethod, isReservedHeader } from '../../load/request-rules.ts';

const MAX_BURST = 1e6;
const MAX_THREADS = 256;
const MAX_PROCESSES = 64;
const MAX_CONNECTIONS = 65_536;
const MAX_CONCURRENCY = 1e6;
const MAX_ROUNDS = 1_000;
const DAY_MS = 86_400_000;

const NUMBER = /^\d+(\.\d+)?(e[+-]?\d+)?$/i;
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/;
const SOME_DURATION = 'duration from 1ms to 24h, such as 10, 10s, 500ms, 2m or 1h';
const UNIT_MS = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** Commander prefixes the message with the option and its value. */
function invalid(wanted: string): InvalidArgumentError {
  return new InvalidArgumentError(`It must be ${wanted}.`);
}

/**
 * Parses requests per second: `2000`, `0.5`, `1e4`.
 *
 * @param or what else the option accepts, for the error
 */
export function parseRate(text: string, or = ''): number {
  const rate = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (!(rate >= MIN_RATE && rate <= MAX_RATE)) {
    throw invalid(`requests per second, from 0.001 to 1000000, such as 2000, 0.5 or 1e4${or}`);
  }
  return rate;
}

/** `--rate max`: call as fast as the threads can. */
export const MAX = Number.POSITIVE_INFINITY;

/** Parses a rate, or `max`. */
export function parseRateOrMax(text: string): number {
  return text === 'max' ? MAX : parseRate(text, ', or max for a module');
}

/** Parses two rates and the duration of the change: `500:5000:10s`. */
export function parseRamp(text: string): Ramp {
  const [from, to, over, ...rest] = text.split(':');
  if (from === undefined || to === undefined || over === undefined || rest.length > 0) {
    throw invalid('two rates and a time, such as 500:5000:10s');
  }
  return { from: parseRate(from), to: parseRate(to), overMs: parseDuration(over) };
}

function parseCount(text: string, max: number, example: number): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= 1 && count <= max)) {
    throw invalid(`a whole number from 1 to ${max}, such as ${example}`);
  }
  return count;
}

export function parseThreads(text: string): number {
  return parseCount(text, MAX_THREADS, 4);
}

export function parseProcesses(text: string): number {
  return parseCount(text, MAX_PROCESSES, 2);
}

export function parseConnections(text: string): number {
  return parseCount(text, MAX_CONNECTIONS, 64);
}

export function parseConcurrency(text: string): number {
  return parseCount(text, MAX_CONCURRENCY, 1_000);
}

export function parseRounds(text: string): number {
  return parseCount(text, MAX_ROUNDS, 5);
}

export function parseBurst(text: string): number {
  return parseCount(text, MAX_BURST, 1);
}

/** Milliseconds; NaN if the text is no duration. */
function durationOf(text: string): number {
  const [, amount = '', unit = 's'] = DURATION.exec(text) ?? [];
  return amount === '' ? Number.NaN : Number(amount) * (UNIT_MS.get(unit) ?? Number.NaN);
}

/** Parses a duration to milliseconds: `10` and `10s` are seconds; also `500ms`, `2m`, `1h`. */
export function parseDuration(text: string): number {
  const ms = durationOf(text);
  if (!(ms >= 1 && ms <= DAY_MS)) throw invalid(`a ${SOME_DURATION}`);
  return ms;
}

/** The same, or 0 for none. */
export function parseDurationOrNone(text: string): number {
  const ms = durationOf(text);
  if (ms !== 0 && !(ms >= 1 && ms <= DAY_MS)) throw invalid(`0 for none, or a ${SOME_DURATION}`);
  return ms;
}

/** A host with a port or a dot, and perhaps a path: a URL that lacks its scheme. */
const WITHOUT_SCHEME = /^(localhost|[\w-]+(\.[\w-]+)*:\d+|[\w-]+(\.[\w-]+)+)(\/|$)/;

/**
 * Parses an absolute http or https URL.
 *
 * @param or what else the argument accepts, for the error
 */
export function parseUrl(text: string, or = ''): string {
  const example = WITHOUT_SCHEME.test(text) ? `http://${text}` : 'http://localhost:8080/path';
  const wanted = `an absolute URL, such as ${example}${or}`;
  if (!URL.canParse(text)) throw invalid(wanted);
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalid(`${wanted}; a URL must start with http:// or https://`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(`${wanted}, without a user name (use --header 'Authorization: Basic ...')`);
  }
  return url.href;
}

/** Parses the URL of a Redis server. */
export function parseRedisUrl(text: string): string {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  if (protocol !== 'redis:' && protocol !== 'rediss:') {
    throw invalid('the URL of a Redis server, such as redis://localhost:6379');
  }
  return text;
}

/** Parses the key of a limit on a Redis server. */
export function parseRedisKey(text: string): string {
  if (text.length < 1 || text.length > 1024) throw invalid('a key of 1 to 1024 characters');
  return text;
}

/** Parses an HTTP method in upper or lower case. */
export function parseMethod(text: string): string {
  const method = text.toUpperCase();
  if (!isMethod(method)) {
    throw invalid('an HTTP method other than CONNECT, such as GET, POST or PUT');
  }
  return method;
}

/** Parses one `Name: value` and appends it to the previous ones. */
export function parseHeader(text: string, before: readonly Header[] = []): Header[] {
  const colon = text.indexOf(':');
  const name = text.slice(0, colon).trim();
  const value = text.slice(colon + 1).trim();
  if (colon === -1 || !isHeader(name, value)) {
    throw invalid("a header in the form 'Name: value', such as 'Accept: application/json'");
  }
  const key = name.toLowerCase();
  if (isReservedHeader(key)) {
    throw invalid(`a header other than ${key}, which the connection sets`);
  }
  if (key === 'host' && before.some(([other]) => other.toLowerCase() === 'host')) {
    throw invalid('given only once for Host');
  }
  return [...before, [name, value]];
}

/** A parsed body. Standard input is read later, when all options are known. */
export type BodyOption = Uint8Array | '@-';

/** Parses a body: text, `@file` for a file, or `@-` for standard input. */
export function parseBody(text: string): BodyOption {
  if (text === '@-') return text;
  if (!text.startsWith('@')) return Buffer.from(text);
  const path = text.slice(1);
  try {
    return readFileSync(path);
  } catch (error) {
    throw invalid(`text, @- or @ and the path of a readable file (${(error as Error).message})`);
  }
}
