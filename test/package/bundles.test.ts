import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type BuildOptions, build as esbuild } from 'esbuild';
import { build as vite } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LinkedProject, linkedProject } from './installed.ts';

/** Bytes of a bundle with one limiter and both targets of the engine, minified and with gzip. */
const MOST_OF_ONE_LIMITER = 29_000;
/** The same without the JavaScript target. */
const MOST_WITH_WASM_ONLY = 22_000;
/** A bundle with one keyed limiter and both targets. */
const MOST_OF_ONE_KEYED_LIMITER = 40_000;

/** A user's program for the bundlers: it starts a worker of its own, and a ticker's. */
const MAIN = `
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { TickerClock, TokenBucket } from 'zerotime';

const clock = await TickerClock.create();
const bucket = TokenBucket.create({ rate: 1e-6, burst: 100, clock });
const workers = [1, 2].map(() => new Worker(new URL('./worker.js', import.meta.url), { workerData: bucket.handle }));
const counts = await Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0]));
clock.dispose();
console.log(counts[0] + counts[1], bucket.kernelName);
`;
const WORKER = `
import { parentPort, workerData } from 'node:worker_threads';
import { attach } from 'zerotime';

const bucket = attach(workerData);
let admitted = 0;
for (let call = 0; call < 100; call++) if (bucket.tryConsume()) admitted++;
parentPort.postMessage(admitted);
`;

let project: LinkedProject;
beforeAll(() => {
  project = linkedProject();
});
afterAll(() => project.remove());

/** Bundles a program and runs it: what it prints, the code of the bundle, and its size with gzip. */
async function bundled(name: string, contents: string, options: BuildOptions = {}) {
  const outfile = join(project.folder, `${name}.js`);
  await esbuild({
    ...{ stdin: { contents, resolveDir: project.folder }, outfile, bundle: true, minify: true },
    ...{ format: 'esm', platform: 'neutral', external: ['node:worker_threads'] },
    ...options,
  });
  const code = readFileSync(outfile);
  const zipped = gzipSync(code, { level: 9 }).byteLength;
  console.info(`${name}: ${code.byteLength} bytes, with gzip ${zipped}`);
  return { printed: await project.run(outfile), code: code.toString(), zipped };
}

describe('a bundle', () => {
  test('of one limiter contains no other limiter, command or integration', async () => {
    const program = `import { TokenBucket } from 'zerotime';
      console.log(TokenBucket.create({ rate: 1, burst: 1 }).limit);`;
    const { code, printed } = await bundled('one', program, { minify: false });
    expect(code).toContain('TokenBucket = class');
    // Names come with the class Region.
    expect(code).not.toContain('onMismatch');
    const others = /(Window|Log|Leaky\w*|Sometimes|Keyed\w*|Fleet\w*) = class|siphash|commander/;
    expect(others.exec(code)?.[0]).toBe(undefined);
    const minified = await bundled('one-minified', program);
    expect([printed, minified.printed]).toEqual(['1\n', '1\n']);
    expect(minified.zipped).toBeLessThan(MOST_OF_ONE_LIMITER);
  });

  test('of one keyed limiter is small', async () => {
    const program = `import { KeyedTokenBucket } from 'zerotime';
      const limiter = KeyedTokenBucket.create({ rate: 1, burst: 2, capacity: 10 });
      console.log(limiter.consumeOrDrain('ann', 5));`;
    const { printed, zipped } = await bundled('keyed', program);
    expect(printed).toBe('2\n');
    expect(zipped).toBeLessThan(MOST_OF_ONE_KEYED_LIMITER);
  });

  test('of a limiter with a name contains the code that opens it', async () => {
    const program = `import { ManualClock, Region, TokenBucket } from 'zerotime';
      const [region, limit] = [Region.create(), { rate: 1, burst: 3 }];
      const clock = ManualClock.open(region, 'clock');
      const open = () => TokenBucket.open(Region.attach(region.handle), 'api', { ...limit, clock });
      console.log(open().consumeOrDrain(2), open().consumeOrDrain(2));`;
    expect((await bundled('named', program)).printed).toBe('2 1\n');
  });

  test('made with ZEROTIME_WASM_ONLY has no JavaScript target, and throws if it needs one', async () => {
    const program = (kernel: string) => `import { TokenBucket } from 'zerotime';
      const limit = { rate: 1, burst: 3, kernel: '${kernel}' };
      try { console.log(TokenBucket.create(limit).consumeOrDrain(5)); }
      catch ({ code }) { console.log(code); }`;
    const define = { ZEROTIME_WASM_ONLY: 'true' };
    for (const [kernel, result] of [
      ['wasm', '3\n'],
      ['atomics', 'ERR_NO_WEB_ASSEMBLY\n'],
    ] as const) {
      const { printed, zipped } = await bundled(`only-${kernel}`, program(kernel), { define });
      expect(printed).toBe(result);
      expect(zipped).toBeLessThan(MOST_WITH_WASM_ONLY);
    }
  });

  const byEsbuild = (options: BuildOptions) => {
    return async (entryPoints: Record<string, string>, outdir: string) => {
      const common = { entryPoints, outdir, bundle: true } as const;
      await esbuild({ ...common, format: 'esm', platform: 'node', ...options });
    };
  };
  const bundlers = {
    esbuild: byEsbuild({}),
    'esbuild, minified': byEsbuild({
      ...{ minify: true, keepNames: true, splitting: true, target: 'es2022' },
    }),
    vite: async (input: Record<string, string>, outDir: string) => {
      await vite({
        configFile: false,
        root: project.folder,
        logLevel: 'error',
        ssr: { noExternal: true },
        build: {
          ssr: true,
          minify: true,
          outDir,
          emptyOutDir: false,
          rolldownOptions: { input, output: { entryFileNames: '[name].js' } },
        },
      });
    },
  };
  test.each(Object.entries(bundlers))(
    'by %s shares a limiter with its worker, and starts a ticker',
    async (name, bundle) => {
      const entries = {
        main: project.write('main.js', MAIN),
        worker: project.write('worker.js', WORKER),
      };
      const outdir = join(project.folder, `bundled-by-${name.replaceAll(/\W/g, '-')}`);
      await bundle(entries, outdir);
      // Outside the package, so that the bundle must contain everything it needs.
      expect(readdirSync(outdir)).toEqual(expect.arrayContaining(['main.js', 'worker.js']));
      for (const file of readdirSync(outdir).filter((file) => file.endsWith('.js'))) {
        expect(readFileSync(join(outdir, file), 'utf8')).not.toMatch(/from\s*["']zerotime/);
      }
      expect(await project.run(join(outdir, 'main.js'))).toBe('100 wasm\n');
    },
  );
});
