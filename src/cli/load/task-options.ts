import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Command, InvalidArgumentError } from 'commander';
import type { TaskOptions } from '../../load/options.ts';
import { parseUrl } from './options.ts';

const MODULE = /\.[cm]?[jt]s$/i;
const DEFAULT_CONCURRENCY = 1_000;
/** Options that apply to requests only. */
const OF_REQUESTS = [
  'processes',
  'connections',
  'method',
  'header',
  'body',
  'http2',
  'unix',
] as const;

/** Parses the target: the URL of a server, or the path or file: URL of a module. */
export function parseTarget(text: string): string {
  const isModule = text.startsWith('file:') || (MODULE.test(text) && !/^https?:/i.test(text));
  if (!isModule) return parseUrl(text, ', or the path of a module, such as ./task.mjs');
  const url = text.startsWith('file:') ? text : pathToFileURL(resolve(text)).href;
  if (!isThere(url)) {
    throw new InvalidArgumentError('It must be the path of a module that exists.');
  }
  return url;
}

/** Parses what the `setup` of a module gets: JSON, or `@file` for the JSON in a file. */
export function parseData(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text);
  } catch (error) {
    throw new InvalidArgumentError(
      `It must be JSON, or @ and the path of a JSON file (${(error as Error).message}).`,
    );
  }
}

function isThere(url: string): boolean {
  try {
    return existsSync(fileURLToPath(url));
  } catch {
    return false; // names another host
  }
}

/** The task of a run, undefined for requests. Ends the command if options contradict it. */
export function taskOf(
  url: string | undefined,
  given: Readonly<Record<string, unknown>>,
  command: Command,
  usualConcurrency = DEFAULT_CONCURRENCY,
): TaskOptions | undefined {
  const concurrency = given['concurrency'] as number | undefined; // parsed by commander
  if (!url?.startsWith('file:')) {
    if (concurrency !== undefined) {
      command.error('error: --concurrency needs a module; for requests, use --connections');
    }
    if (given['data'] !== undefined) {
      command.error('error: --data needs a module; for requests, use --body');
    }
    return undefined;
  }
  for (const name of OF_REQUESTS) {
    if (given[name] !== undefined) command.error(`error: --${name} cannot be used with a module`);
  }
  if (given['redis'] !== undefined && given['redisKey'] === undefined) {
    command.error('error: with a module, --redis needs --redis-key');
  }
  return { url, data: given['data'], concurrency: concurrency ?? usualConcurrency };
}
