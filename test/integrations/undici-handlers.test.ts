import { EventEmitter } from 'node:events';
import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { Semaphore } from '../../src/index.ts';
import type { Handler } from '../../src/integrations/undici/handlers.ts';
import { type RateLimitOptions, rateLimit } from '../../src/integrations/undici.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { settled } from '../support/settled.ts';

// Handlers of undici 6 and of undici 7, as the library calls them, without a server.

type Calls = [name: string, ...args: unknown[]][];
type Methods = Record<string, (...args: never[]) => unknown>;

const LEGACY = [
  'onConnect',
  'onUpgrade',
  'onResponseStarted',
  'onHeaders',
  'onData',
  'onComplete',
  'onError',
  'onBodySent',
  'onRequestSent',
];
const MODERN = [
  'onRequestStart',
  'onRequestUpgrade',
  'onResponseStart',
  'onResponseData',
  'onResponseEnd',
  'onResponseError',
  'onBodySent',
  'onRequestSent',
  'onResponseStarted',
];

/** A handler with these methods, and the calls that it received. */
function recorded(names: readonly string[], answer?: unknown): { handler: Handler; calls: Calls } {
  const calls: Calls = [];
  const methods = names.map((name) => [
    name,
    (...args: unknown[]) => {
      calls.push([name, ...args]);
      return answer;
    },
  ]);
  return { handler: Object.fromEntries(methods) as Handler, calls };
}

/** Sends one request; returns the methods that undici would call while it runs. */
function sent(handler: Handler, options: Partial<RateLimitOptions> = {}) {
  const { clock, limiter } = bucketOf(1, 1);
  const semaphore = Semaphore.create({ permits: 1 });
  let inner: Methods | undefined;
  let sends = 0;
  const dispatch = rateLimit({ limiter, semaphore, ...options })(((_: unknown, given: Methods) => {
    inner = given;
    sends++;
    return true;
  }) as never);
  const send = () => {
    expect(dispatch({ origin: 'http://a', path: '/', method: 'GET' }, handler)).toBe(true);
  };
  const call = (name: string, ...args: unknown[]) => inner?.[name]?.(...(args as never[]));
  send();
  return { clock, limiter, semaphore, call, send, sends: () => sends };
}

const headers = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test('a handler of undici 6 gets all that undici calls, and its permit comes back at the end', () => {
  const { handler, calls } = recorded(LEGACY, false);
  const { semaphore, call } = sent(handler);
  const [abort, resume] = [() => undefined, () => undefined];
  const fields = headers('Content-Type', 'text/plain');
  call('onConnect', abort, 'context');
  call('onBodySent', 3, 5);
  call('onRequestSent');
  call('onResponseStarted');
  expect(call('onHeaders', 200, fields, resume, 'OK')).toBe(false);
  expect(call('onData', 'chunk')).toBe(false);
  expect(semaphore.inUse()).toBe(1);
  call('onComplete', []);
  expect(semaphore.inUse()).toBe(0);
  expect(calls).toEqual([
    ['onConnect', abort, 'context'],
    ['onBodySent', 3, 5],
    ['onRequestSent'],
    ['onResponseStarted'],
    ['onHeaders', 200, fields, resume, 'OK'],
    ['onData', 'chunk'],
    ['onComplete', []],
  ]);
});

test('a handler of undici 6 that lacks methods works, and its body is not paused', () => {
  const { semaphore, call } = sent({});
  for (const name of ['onConnect', 'onBodySent', 'onRequestSent', 'onResponseStarted']) {
    expect(call(name, () => undefined)).toBeUndefined();
  }
  expect(call('onHeaders', 200, [], () => undefined, 'OK')).toBe(true);
  expect(call('onData', 'chunk')).toBe(true);
  call('onError', new Error('reset'));
  expect(semaphore.inUse()).toBe(0);
});

test.each([
  ...['retry-after', 'Retry-After', 'RETRY-AFTER'].map((name) => ({
    methods: LEGACY,
    name: 'onHeaders',
    answer: [429, headers('a', 'retry-after', name, '7', 'b', ''), () => undefined, ''],
  })),
  {
    methods: MODERN,
    name: 'onResponseStart',
    answer: [{}, 503, { 'retry-after': ['7', '2'] }, ''],
  },
])('Retry-After holds up the next request: $name $answer', async ({ methods, name, answer }) => {
  const { call, clock, send, sends } = sent(recorded(methods).handler);
  call(name, ...answer);
  call('onError', new Error('reset'));
  call('onResponseError', {}, new Error('reset'));
  send();
  await settled();
  clock.advance(6999);
  await settled();
  expect(sends()).toBe(1);
  clock.advance(1);
  await settled();
  expect(sends()).toBe(2);
});

test.each([
  ['onUpgrade', LEGACY, (socket: object) => [101, [], socket]],
  ['onRequestUpgrade', MODERN, (socket: object) => [{}, 101, {}, socket]],
] as const)('%s keeps the permit until its socket is closed', (name, methods, argsWith) => {
  const { handler, calls } = recorded(methods);
  const { semaphore, call } = sent(handler);
  const socket = new EventEmitter();
  call(name, ...argsWith(socket));
  expect([calls.at(-1)?.[0], semaphore.inUse()]).toEqual([name, 1]);
  socket.emit('close');
  expect(semaphore.inUse()).toBe(0);
});

test('a handler of undici 7 gets all that undici calls, though it may lack methods', () => {
  const { handler, calls } = recorded(MODERN);
  const { semaphore, call } = sent(handler);
  for (const name of MODERN.filter((one) => !one.endsWith('Upgrade') && !one.endsWith('Start'))) {
    call(name, {}, 'more');
  }
  expect(calls.map(([name]) => name)).toEqual([
    'onResponseData',
    'onResponseEnd',
    'onResponseError',
    'onBodySent',
    'onRequestSent',
    'onResponseStarted',
  ]);
  expect(semaphore.inUse()).toBe(0);
  const least = sent({ onRequestStart: () => undefined });
  const { call: calling } = least;
  calling('onResponseStart', {}, 200, {}, '');
  calling('onRequestUpgrade', {}, 101, {}, new EventEmitter());
  for (const name of MODERN.slice(3)) calling(name, {}, 'more');
  expect(least.semaphore.inUse()).toBe(0);
});

test.each([
  ['undici 6', LEGACY, 'onConnect', 'onError'],
  ['undici 7', MODERN, 'onRequestStart', 'onResponseError'],
] as const)(
  'a handler of %s can abort a request that waits, and one that has started',
  async (_, methods, startName, errorName) => {
    const { handler, calls } = recorded(methods);
    const { clock, send, call, sends, semaphore } = sent(handler);
    call(methods === LEGACY ? 'onComplete' : 'onResponseEnd', {}, []);
    calls.length = 0;
    const abort = () => {
      const [, first] = calls.find(([name]) => name === startName) ?? [];
      return first as ((reason?: Error) => void) & Dispatcher.DispatchController;
    };
    const end = (reason: Error) => (methods === LEGACY ? abort()(reason) : abort().abort(reason));
    send();
    expect(calls.map(([name]) => name)).toEqual([startName]);
    end(new Error('enough'));
    await settled();
    expect(calls.at(-1)?.[0]).toBe(errorName);
    expect(calls.at(-1)?.at(-1)).toEqual(new Error('enough'));
    calls.length = 0;
    send();
    clock.advance(1000);
    while (semaphore.inUse() === 0) await settled();
    expect(sends()).toBe(2);
    // What undici gives the request, once that has started.
    const aborted: unknown[] = [];
    const take = (reason: Error) => void aborted.push(reason);
    call(startName, methods === LEGACY ? take : { abort: take }, {});
    const late = new Error('too late');
    end(late);
    end(new Error('once more'));
    expect(aborted).toEqual([late]);
  },
);
