import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Command, InvalidArgumentError } from 'commander';
import type { TaskOptions } from '../../load/options.ts';
import { parseUrl } from './options.ts';

const MODULE = /\.[cm]?[jt]s$/i;
const DEFAULT_CONCURRENCY = 1_000;
/** Options of requests, which no task has. */
const OF_REQUESTS = [
  'processes',
  'connections',
  'method',
  'header',
  'body',
  'http2',
  'unix',
] as const;

/** What to drive: the URL of a server, or the path or file: URL of a module. */
export function parseTarget(text: string): string {
  const isModule = text.startsWith('file:') || (MODULE.test(text) && !/^https?:/i.test(text));
  if (!isModule) return parseUrl(text);
  const url = text.startsWith('file:') ? text : pathToFileURL(resolve(text)).href;
  if (!isThere(url)) {
    throw new InvalidArgumentError('It must be the path of a module that exists.');
  }
  return url;
}

function isThere(url: string): boolean {
  try {
    return existsSync(fileURLToPath(url));
  } catch {
    return false; // of another host
  }
}

/** The task among the arguments, undefined for requests; ends with an error if options don't fit. */
export function taskOf(
  url: string | undefined,
  given: Readonly<Record<string, unknown>>,
  command: Command,
): TaskOptions | undefined {
  const concurrency = given['concurrency'] as number | undefined; // parsed by commander
  if (!url?.startsWith('file:')) {
    if (concurrency !== undefined) {
      command.error('error: --concurrency needs a module; requests have --connections');
    }
    return undefined;
  }
  for (const name of OF_REQUESTS) {
    if (given[name] !== undefined) command.error(`error: --${name} is for requests, not a module`);
  }
  if (given['redis'] !== undefined && given['redisKey'] === undefined) {
    command.error('error: --redis needs --redis-key with a module');
  }
  return { url, data: undefined, concurrency: concurrency ?? DEFAULT_CONCURRENCY };
}
