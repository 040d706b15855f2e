import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { InvalidArgumentError } from 'commander';
import { isHeader, isReservedHeader } from '../load/plan/headers.ts';
import { DURATIONS, isWithin, type NumberRange, RATES } from '../load/plan/option-table.ts';
import type { Header } from '../load/plan/options.ts';
import type { RateRamp } from '../load/plan/rate-course.ts';

// Parses the values of options and arguments. Commander prefixes an error with the option and its
// value.

/** The error of a value that is not `wanted`. */
export function invalid(wanted: string): InvalidArgumentError {
  return new InvalidArgumentError(`It must be ${wanted}.`);
}

function messageOf(error: unknown): string {
  return (error as Error).message;
}

/** What `read` returns. If it throws, the error says that the value had to be `wanted`, and why. */
export function readable<T>(wanted: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalid(`${wanted} (${messageOf(error)})`);
  }
}

/** Makes commander report a value that a parser of the library rejects. */
export function parsed<A extends readonly unknown[], T>(
  parse: (...args: A) => T,
): (...args: A) => T {
  return (...args) => {
    try {
      return parse(...args);
    } catch (error) {
      throw new InvalidArgumentError(messageOf(error).replace(/\.?$/, '.'));
    }
  };
}

const NUMBER = /^\d+(\.\d+)?(e[+-]?\d+)?$/i;
const WITH_UNIT = /^(\d+(?:\.\d+)?)(us|ms|s|m|h)?$/;
const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['us', 0.001],
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** Milliseconds; NaN unless the unit is one of these. */
function timeOf(text: string, units: readonly string[], usual?: string): number {
  const [, amount = '', unit = usual ?? ''] = WITH_UNIT.exec(text) ?? [];
  return amount === '' || !units.includes(unit)
    ? Number.NaN
    : Number(amount) * (UNIT_MS.get(unit) ?? Number.NaN);
}

/** Parses requests per second: `2000`, `0.5`, `1e4`; or `max`, if Infinity is accepted. */
export function parseRate(text: string, range: NumberRange = RATES): number {
  if (text === 'max' && range.orInfinity) return Number.POSITIVE_INFINITY;
  const rate = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (rate <= range.max && isWithin(range, rate)) return rate;
  const or = range.orInfinity ? ', or max for a module' : '';
  throw invalid(
    `requests per second, from ${range.min} to ${range.max}, such as 2000, 0.5 or 1e4${or}`,
  );
}

/** Parses two rates and the duration of the change: `500:5000:10s`. */
export function parseRamp(text: string): RateRamp {
  const [from, to, over, ...rest] = text.split(':');
  if (from === undefined || to === undefined || over === undefined || rest.length > 0) {
    throw invalid('two rates and a time, such as 500:5000:10s');
  }
  return { from: parseRate(from), to: parseRate(to), overMs: parseDuration(over) };
}

/** Parses a whole number. */
export function parseCount(text: string, range: NumberRange): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (isWithin(range, count)) return count;
  const example = range.example === undefined ? '' : `, such as ${range.example}`;
  throw invalid(`a whole number from ${range.min} to ${range.max}${example}`);
}

/** Parses a duration to milliseconds: `10` and `10s` are seconds; also `500ms`, `2m`, `1h`. */
export function parseDuration(text: string, range: NumberRange = DURATIONS): number {
  const ms = timeOf(text, ['ms', 's', 'm', 'h'], 's');
  if (isWithin(range, ms)) return ms;
  const none = range.orNone ? '0 for none, or ' : '';
  throw invalid(`${none}a duration from 1ms to 24h, such as 10, 10s, 500ms, 2m or 1h`);
}

/** Parses a latency with its unit to milliseconds: `20ms`, `1.5s`, `800us`. */
export function parseLatency(text: string): number {
  const ms = timeOf(text, ['us', 'ms', 's', 'm']);
  if (ms > 0 && Number.isFinite(ms)) return ms;
  throw invalid('a time with its unit, such as 20ms, 800us or 1.5s');
}

/** Parses a percentage to a share: `1%` is 0.01. */
export function parseShare(text: string): number {
  const [, amount = ''] = /^(\d+(?:\.\d+)?) ?%$/.exec(text) ?? [];
  const percent = Number(amount || Number.NaN);
  if (percent <= 100) return percent / 100;
  throw invalid('a share from 0% to 100%, such as 1% or 99.5%');
}

/** The path that means standard input or output. */
export const STANDARD = '-';

/** @throws Error with the reason why a file can't be read or written. A folder is no file. */
export function checkFile(path: string, mode: number): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() || /[/\\]$/.test(path)) throw new Error('EISDIR: is a directory');
  const isNew = stats === undefined && mode === constants.W_OK;
  accessSync(isNew ? dirname(path) : path, mode);
}

/** Parses the path of a readable file, or `-`. */
export function parseInputPath(path: string): string {
  const check = () => path === STANDARD || checkFile(path, constants.R_OK);
  readable('- or the path of a readable file', check);
  return path;
}

/** `even`, `poisson` or the path of a file. */
export function parseArrivals(text: string): 'even' | 'poisson' | { readonly path: string } {
  if (text === 'even' || text === 'poisson') return text;
  try {
    return { path: parseInputPath(text) };
  } catch {
    throw invalid('even, poisson, - or the path of a readable file');
  }
}

/** A host with a port or a dot, and perhaps a path: a URL that lacks its scheme. */
const WITHOUT_SCHEME = /^(localhost|[\w-]+(\.[\w-]+)*:\d+|[\w-]+(\.[\w-]+)+)(\/|$)/;
/** The endings of files that are mistaken for a target. */
const FILE = /^[^/:]+\.(css|csv|html?|json|lock|log|md|py|sh|toml|txt|ya?ml)$/i;
const MODULE = /\.[cm]?[jt]s$/i;

/**
 * Parses an absolute http or https URL.
 *
 * @param or what else the argument accepts, for the error
 */
export function parseUrl(text: string, or = ''): string {
  const isHost = WITHOUT_SCHEME.test(text) && !FILE.test(text);
  const wanted = `an absolute URL, such as ${isHost ? `http://${text}` : 'http://localhost:8080/path'}${or}`;
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

/** Parses the target: the URL of a server, or the path or file: URL of a module. */
export function parseTarget(text: string): string {
  const isModule = text.startsWith('file:') || (MODULE.test(text) && !/^https?:/i.test(text));
  if (!isModule) return parseUrl(text, ', or the path of a module, such as ./task.mjs');
  const url = text.startsWith('file:') ? text : pathToFileURL(resolve(text)).href;
  if (isThere(url)) return url;
  throw invalid('the path of a module that exists');
}

function isThere(url: string): boolean {
  try {
    return existsSync(fileURLToPath(url));
  } catch {
    return false; // names another host
  }
}

/** Parses the URL of a Redis server. */
export function parseRedisUrl(text: string): string {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  if (protocol === 'redis:' || protocol === 'rediss:') return text;
  throw invalid('the URL of a Redis server, such as redis://localhost:6379');
}

/** Parses the key of a limit on a Redis server. */
export function parseRedisKey(text: string): string {
  if (text.length >= 1 && text.length <= 1024) return text;
  throw invalid('a key of 1 to 1024 characters');
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
  const wanted = 'text, @- or @ and the path of a readable file';
  return readable(wanted, () => readFileSync(text.slice(1)));
}

/** Reads a JSON file, which some editors begin with a byte order mark: the decoder drops it. */
export function readJson(path: string): unknown {
  return JSON.parse(new TextDecoder().decode(readFileSync(path)));
}

/** Parses what the `setup` of a module gets: JSON, or `@file` for the JSON in a file. */
export function parseData(text: string): unknown {
  return readable('JSON, or @ and the path of a JSON file', () =>
    text.startsWith('@') ? readJson(text.slice(1)) : JSON.parse(text),
  );
}

/** Parses the path of a Unix domain socket. */
export function parseSocketPath(path: string): string {
  const wanted = 'the path of a Unix domain socket';
  if (readable(wanted, () => statSync(path).isSocket())) return path;
  throw invalid(wanted);
}

/** Reads a PEM file. */
export function parsePem(path: string): string {
  return readable('the path of a file in PEM', () => readFileSync(path, 'utf8'));
}
