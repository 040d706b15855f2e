import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { operate } from '../../../host/operations.ts';
import { parseDuration } from '../../values.ts';
import {
  type Assignment,
  differences,
  operationOf,
  parseAssignment,
  userName,
} from '../requested-change.ts';
import type { History } from './history.ts';
import type { ChangeAnswer, ChangeRequest } from './view.ts';

// Who may read, and who may change something. A page of another origin can send requests to this
// server but cannot read the answers, unless its own name leads here (DNS rebinding): so each request
// must name this server in Host. A change also needs the origin of this server and a token, which
// another user of the machine does not have either.

const MOST_BYTES = 16_384;

/** A request that is refused. */
export class Refusal extends Error {
  readonly status: number;
  /** The methods that are answered, if the request has another one. */
  readonly allow: string | undefined;

  constructor(status: number, message: string, allow?: string) {
    super(message);
    this.status = status;
    this.allow = allow;
  }
}

/** The name in a Host header or an origin, without port and brackets. */
function nameIn(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

/** The names under which a server may be reached. No other site's name leads to an IP address. */
export class Names {
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = new Set(['localhost', hostname(), ...names].map((name) => name.toLowerCase()));
  }

  /** @throws Refusal if a request names another host. */
  check({ headers: { host = '' } }: IncomingMessage): void {
    const name = nameIn(host);
    if (isIP(name) !== 0 || this.#names.has(name)) return;
    throw new Refusal(403, 'this server does not serve the host of this request; see --name');
  }
}

function hashed(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** @throws Refusal unless a request comes from this server's own page, with the token. */
export function checkChange(request: IncomingMessage, token: string): void {
  const { host, origin, authorization = '', 'content-type': type = '' } = request.headers;
  if (origin !== `http://${host}` && origin !== `https://${host}`) {
    throw new Refusal(403, 'changes are accepted from the page of this server only');
  }
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Refusal(415, 'a change must be application/json');
  }
  if (timingSafeEqual(hashed(authorization), hashed(`Bearer ${token}`))) return;
  throw new Refusal(401, 'the token is wrong: open the address that zerotime host serve printed');
}

/** Reads the change that a request asks for. */
export async function readChange(request: IncomingMessage): Promise<ChangeRequest> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Refusal(413, 'the change is too long');
    chunks.push(chunk);
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new Refusal(400, 'the change is no JSON');
  }
  if (isRequest(body)) return body;
  throw new Refusal(400, 'the change must have path, name, action and isDry');
}

function isRequest(body: unknown): body is ChangeRequest {
  if (typeof body !== 'object' || body === null) return false;
  const { isDry, ...texts } = body as Readonly<Record<string, unknown>>;
  const { path, name, action } = texts;
  const areGiven = [path, name, action].every((one) => typeof one === 'string');
  return typeof isDry === 'boolean' && areGiven && Object.values(texts).every(isText);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' || value === undefined;
}

/** @throws Error if the action or one of its parameters is invalid. */
function requested({ action, changes = '', key, keyType, time = '' }: ChangeRequest) {
  const words = changes.split(/\s+/).filter((word) => word !== '');
  if (action === 'set' && words.length === 0) {
    throw new TypeError('changes must be such as rate=50 burst=10');
  }
  return operationOf({
    action,
    assignments: words.reduce<Assignment[]>((all, word) => parseAssignment(word, all), []),
    key,
    keyType,
    ms: action === 'block' ? parseDuration(time) : 0,
  });
}

/** Makes a change, as the commands of `zerotime host` do. `from` is the address of the client. */
export function makeChange(history: History, change: ChangeRequest, from: string): ChangeAnswer {
  const { path, name, isDry } = change;
  const watched = history.at(path);
  if (watched === undefined) throw new Refusal(404, 'this region is not served');
  try {
    const user = `${userName()} via ${from}`;
    const options = { user, isDry, isRecorded: true };
    const made = operate(watched.find(), name, requested(change), options);
    if (!isDry) history.refresh();
    const { change: done } = made;
    return { differences: done === undefined ? [] : differences(done.from, done.to) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : `${error}` };
  }
}
