import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { beforeAll, describe, expect, test } from 'vitest';
import { IN_FULL } from '../support/random.ts';
import { BROWSERS, type Open } from './browsers.ts';
import type { Broken } from './harness.ts';
import type { Report } from './page.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const LIB = new URL('../../lib/', import.meta.url);

const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};
/** Neither WebAssembly nor workers made of text. */
const STRICT = { ...ISOLATED, 'content-security-policy': "default-src 'self'" };

/** The pages import the library as it is shipped. */
const shipped: Plugin = {
  name: 'shipped',
  setup({ onResolve }) {
    onResolve({ filter: /\/src\/(index|keyed)\.ts$/ }, ({ path }) => ({
      path: path.replace(/^.*\/(\w+)\.ts$/, '/lib/$1.js'),
      external: true,
    }));
  },
};

/** The contract suite runs on the sources, which it takes apart, without vitest and Node.js. */
const withoutNode: Plugin = {
  name: 'without-node',
  setup({ onResolve }) {
    onResolve({ filter: /^vitest$/ }, () => ({ path: `${HERE}harness.ts` }));
    onResolve({ filter: /^node:events$/ }, () => ({ path: `${HERE}node-globals.ts` }));
  },
};

const files = new Map<string, string>([
  ['/', '<!doctype html><script type="module" src="/page.js"></script>'],
]);
beforeAll(async () => {
  const common = {
    bundle: true,
    format: 'esm',
    target: 'es2022',
    outdir: HERE,
    write: false,
  } as const;
  const pages = [`${HERE}page.ts`, `${HERE}worker.ts`];
  const suite = { entryPoints: [`${HERE}contract.ts`], inject: [`${HERE}node-globals.ts`] };
  const bundles = await Promise.all([
    build({ ...common, entryPoints: pages, plugins: [shipped] }),
    // The suite is a side effect, which package.json says there are none of.
    build({ ...common, ...suite, plugins: [withoutNode], ignoreAnnotations: true }),
  ]);
  for (const { path, text } of bundles.flatMap(({ outputFiles }) => outputFiles)) {
    files.set(path.replace(HERE, '/'), text);
  }
});

/** Serves the page with these headers, opens it, and returns what it posts. */
async function reportOf(open: Open, headers: Readonly<Record<string, string>>): Promise<Report> {
  let close: (() => Promise<void>) | undefined;
  const server = createServer();
  try {
    const posted = new Promise<Report>((resolve) => {
      server.on('request', (request, response) => {
        const { url = '/' } = request;
        if (url === '/report') {
          let body = '';
          request.on('data', (chunk) => {
            body += chunk;
          });
          request.on('end', () => resolve(JSON.parse(body)));
          response.end();
          return;
        }
        const text = /^\/lib\/[\w-]+\.js$/.test(url)
          ? readFileSync(new URL(url.slice(5), LIB), 'utf8')
          : files.get(url);
        const type = url === '/' ? 'text/html' : 'text/javascript';
        response.writeHead(text === undefined ? 404 : 200, { ...headers, 'content-type': type });
        response.end(text);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    close = await open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return await posted;
  } finally {
    await close?.();
    server.closeAllConnections();
    server.close();
  }
}

/** The claims that fail in a worker; the same ones in all four. */
function brokenIn({ contract = [] }: Report): readonly Broken[] {
  const [first, ...others] = contract;
  expect(others.length).toBe(3);
  for (const other of others) expect(other).toEqual(first);
  expect(first?.claims).toBeGreaterThan(400);
  return first?.broken ?? [];
}

function expectShared({ error, wasm, atomics, wait, block }: Report, kernelName: string): void {
  expect(error).toBe(undefined);
  for (const shared of [wasm, atomics]) {
    expect(shared?.excess.map(([, excess]) => excess)).toEqual(shared?.excess.map(() => 0));
    expect(shared?.excess.length).toBeGreaterThan(6);
    expect(shared?.waited).toBe(true);
  }
  expect([wasm?.kernelName, atomics?.kernelName]).toEqual([kernelName, 'atomics']);
  expect(wait?.tookMs).toBeGreaterThanOrEqual(14.9);
  expect(wait).toMatchObject({ aborted: 'AbortError' });
  expect(wait?.left).toBeGreaterThanOrEqual(0);
  expect(block).toEqual({ first: true, code: 'ERR_CANNOT_BLOCK', balance: 0 });
}

test.runIf(IN_FULL && process.env['ZEROTIME_CI'])('both browsers are installed', () => {
  expect(BROWSERS.map(([name]) => name)).toEqual(['Chromium', 'Firefox']);
});

describe.runIf(IN_FULL && BROWSERS.length > 0).each(BROWSERS)('in %s', (_, open) => {
  test('four workers and an isolated page share every limiter', async () => {
    const report = await reportOf(open, ISOLATED);
    expect(brokenIn(report)).toEqual([]);
    expectShared(report, 'wasm');
    expect(report.tick).toBe('none');
  });

  test('a policy that forbids WebAssembly and workers of text leaves all but the ticker', async () => {
    const report = await reportOf(open, STRICT);
    // Everything works; only the target is not the one that was asked for.
    const broken = brokenIn(report);
    expect(broken.length).toBeGreaterThan(5);
    for (const { name, message } of broken) {
      expect(name).toMatch(/with kernel wasm, .* uses the requested kernel$/);
      expect(message).toContain("expected 'atomics' to be 'wasm'");
    }
    expectShared(report, 'atomics');
    expect(report.tick).toMatch(/ticker cannot start|SecurityError|denied/i);
  });

  test('a page that is not isolated can import zerotime, and gets an error that names the missing headers', async () => {
    const missing = 'ERR_NO_SHARED_MEMORY';
    const report = await reportOf(open, {});
    expect(report.error).toBe(undefined);
    expect(report.withoutMemory).toEqual([missing, missing, missing]);
    const broken = brokenIn(report);
    expect(broken.length).toBe(report.contract?.[0]?.claims);
    for (const { message } of broken) expect(message).toContain('SharedArrayBuffer is missing');
  });
});
