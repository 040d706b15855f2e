import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type DriveOptions, drive } from '../../../src/load.ts';
import { codeUrl } from '../../support/code-url.ts';

describe.concurrent('an abort of drive', () => {
  const HOUR_MS = 3_600_000;
  const hung = codeUrl('export default () => new Promise(() => {})');

  const abortedWhile = async (options: DriveOptions) => {
    const controller = new AbortController();
    const { signal } = controller;
    const onProgress = ({ waiting }: { waiting: number }) => waiting >= 3 && controller.abort();
    const limits = { threads: 1, durationMs: HOUR_MS, timeoutMs: HOUR_MS };
    return drive({ ...options, ...limits, signal, onProgress });
  };

  it.each([100, Number.POSITIVE_INFINITY])(
    'does not wait for hung calls, at %s/s',
    async (rate) => {
      const options = { task: hung, rate, warmupMs: 0, concurrency: 3 };
      const { interrupted, calls, errors, times } = await abortedWhile(options);
      expect(interrupted).toBe(true);
      expect(calls).toMatchObject({ sent: 3, succeeded: 0 });
      expect(errors).toContainEqual({ kind: 'interrupted', count: 3, example: expect.any(String) });
      expect(times.response.count).toBe(3);
    },
  );

  it('aborts the signals of hung calls', async () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    const task = codeUrl(`
      let cell;
      export const setup = ({ data }) => { cell = data; };
      export default ({ signal }) => new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          Atomics.add(cell, 0, signal.reason.name === 'AbortError' ? 1 : 100);
          reject(signal.reason);
        });
      });
    `);
    for (const [at, rate] of [100, Number.POSITIVE_INFINITY].entries()) {
      const options = { task, rate, warmupMs: 0, concurrency: 3, data: cell };
      const { calls, errors } = await abortedWhile(options);
      expect(calls).toMatchObject({ sent: 3, failed: errors.reduce((n, e) => n + e.count, 0) });
      expect(cell[0]).toBe(3 * (at + 1));
    }
  });

  it.each([false, true])(
    'does not wait for a server that never answers, HTTP/2: %s',
    async (http2) => {
      const server = http2 ? createHttp2Server(() => undefined) : createServer(() => undefined);
      server.listen(0);
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const target = { url: `http://localhost:${port}/`, connections: 2, http2 };
      const { calls, errors } = await abortedWhile({ target, rate: 100 });
      expect(calls.succeeded).toBe(0);
      const count = errors.find(({ kind }) => kind === 'interrupted')?.count;
      expect(count).toBe(http2 ? calls.sent : 2);
      server.close();
    },
  );
});
