import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { beside } from '../../../load/beside.ts';
import { CONTENT_TYPE, exposition } from './exposition.ts';
import type { History } from './history.ts';
import { PAGE, PAGE_STYLE } from './page.ts';
import { checkChange, makeChange, type Names, Refusal, readChange } from './requests.ts';
import type { State } from './view.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const SCRIPT_TYPE = 'text/javascript; charset=utf-8';

/** The page loads nothing from elsewhere, and no other page may show it in a frame. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;

interface Served {
  readonly type: string;
  readonly body: string;
}

function file(name: string, type: string): () => Served {
  return () => ({ type, body: readFileSync(beside(name), 'utf8') });
}

/** What does not depend on the regions, by path. */
const FILES: ReadonlyMap<string, () => Served> = new Map([
  ['/', () => ({ type: 'text/html; charset=utf-8', body: PAGE })],
  [
    '/style.css',
    () => ({
      type: 'text/css; charset=utf-8',
      body: readFileSync(beside('uplot.css'), 'utf8') + PAGE_STYLE,
    }),
  ],
  ['/uplot.js', file('uplot.js', SCRIPT_TYPE)],
  ['/charts.js', file('charts.js', SCRIPT_TYPE)],
  ['/live.js', file('live.js', SCRIPT_TYPE)],
]);

/** What a server serves, and to whom. */
export interface ServeOptions {
  readonly history: History;
  readonly names: Names;
  /** The token of changes; undefined if none are allowed. */
  readonly token: string | undefined;
}

/** The server of the page and the metrics. */
export function regionServer(options: ServeOptions): Server {
  return createServer((request, response) => {
    answer(request, options).then(
      ({ type, body }) => respond(request, response, 200, type, body),
      (error: unknown) => refuse(request, response, error),
    );
  });
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  // The rest of a body that was not read would be taken for another request.
  response.setHeader('connection', 'close');
  const status = error instanceof Refusal ? error.status : 500;
  const allow = error instanceof Refusal ? error.allow : undefined;
  if (allow !== undefined) response.setHeader('allow', allow);
  const message = error instanceof Error ? error.message : `${error}`;
  respond(request, response, status, JSON_TYPE, JSON.stringify({ error: message }));
}

function respond(
  { method }: IncomingMessage,
  response: ServerResponse,
  status: number,
  type: string,
  body: string,
): void {
  response.writeHead(status, { ...HEADERS, 'content-type': type });
  response.end(method === 'HEAD' ? undefined : body);
}

async function answer(request: IncomingMessage, options: ServeOptions): Promise<Served> {
  const { history, names, token } = options;
  names.check(request);
  const { pathname, searchParams } = urlOf(request);
  if (pathname === '/change') return changed(request, options);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new Refusal(405, 'only GET and HEAD are answered here', 'GET, HEAD');
  }
  if (pathname === '/metrics') return { type: CONTENT_TYPE, body: exposition(history.regions()) };
  if (pathname === '/state') {
    const regions = history.regions().map(({ view }) => view);
    const samples = history.since(Number(searchParams.get('after') ?? 0) || 0);
    const state: State = {
      nowMs: Date.now(),
      allowsChanges: token !== undefined,
      regions,
      samples,
    };
    return { type: JSON_TYPE, body: JSON.stringify(state) };
  }
  const served = FILES.get(pathname);
  if (served === undefined) throw new Refusal(404, 'there is nothing here');
  return served();
}

function urlOf({ url = '/' }: IncomingMessage): URL {
  try {
    return new URL(url, 'http://localhost');
  } catch {
    throw new Refusal(400, 'the path is invalid');
  }
}

async function changed(request: IncomingMessage, options: ServeOptions): Promise<Served> {
  const { history, token } = options;
  if (request.method !== 'POST') throw new Refusal(405, 'a change must be a POST', 'POST');
  if (token === undefined) {
    throw new Refusal(403, 'changes are not allowed: start with --allow-changes');
  }
  checkChange(request, token);
  const { remoteAddress = '' } = request.socket;
  const body = makeChange(history, await readChange(request), remoteAddress);
  return { type: JSON_TYPE, body: JSON.stringify(body) };
}
