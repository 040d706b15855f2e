import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { type BuildOptions, build as esbuild } from 'esbuild';
import ts from 'typescript';
import { build as vite } from 'vite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { httpServer } from '../cli/support/servers.ts';
import { examplesOf } from '../docs/fences.ts';
import { archivedBytes, type Installed, install, link } from './installed.ts';

const KIB = 1024;
/** Bytes of a bundle with one limiter and both targets of the engine, minified and with gzip. */
const MOST_OF_ONE_LIMITER = 38_500;
/** The same without the JavaScript target. */
const MOST_WITH_WASM_ONLY = 27_600;
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

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
/** Uses each entry point and its types. */
const TYPED = `
import { type Limiter, TokenBucket, type TokenBucketOptions } from 'zerotime';
import { KeyedTokenBucket } from 'zerotime/keyed';
import { drive, type DriveResult, type TaskCall } from 'zerotime/load';
import { throttled } from 'zerotime/throttle';
const options: TokenBucketOptions = { rate: 10, burst: 5 };
export const limiter: Limiter = TokenBucket.create(options);
export const waited: Promise<{ readonly waitedMs: number }> = limiter.wait(1, { timeoutMs: 5 });
export const keyed: boolean = KeyedTokenBucket.create({ ...options, capacity: 10 }).tryConsume('a');
export const paced: Promise<number> = throttled((n: number) => n * n, { limiter, key: (n) => n })(3);
export const task = ({ sequence, signal }: TaskCall): boolean => signal.aborted || sequence > 5;
export const driven: Promise<DriveResult> = drive({ task: new URL('file:///a.mjs'), rate: 5 });
// @ts-expect-error: a rate is a number
TokenBucket.create({ rate: '10', burst: 5 });
`;
const TYPED_INTEGRATIONS = `
import { RateLimitingSampler } from 'zerotime/opentelemetry';
import { LimiterMetrics as OpenTelemetryMetrics } from 'zerotime/opentelemetry/metrics';
import { throttle } from 'zerotime/piscina';
import { rateLimitedFetch, throttleWebStream } from 'zerotime/fetch';
import { addressKey, expressMiddleware, fastifyRateLimitStore } from 'zerotime/http';
import { LimiterMetrics } from 'zerotime/prometheus';
import { throttleStream } from 'zerotime/streams';
import { rateLimit } from 'zerotime/undici';
import { throttle as throttleTinypool } from 'zerotime/tinypool';
export const uses: Function[] = [RateLimitingSampler, LimiterMetrics, OpenTelemetryMetrics, rateLimit];
export const streams: Function[] = [rateLimitedFetch, throttleStream, throttleWebStream];
export const pools: Function[] = [throttle, throttleTinypool];
export const servers: Function[] = [addressKey, expressMiddleware, fastifyRateLimitStore];
`;

let installed: Installed;
let manifest: object;

/** A file of the project. */
function write(name: string, text: string): string {
  const path = join(installed.folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

async function run(...args: string[]): Promise<string> {
  const cwd = installed.folder;
  return (await promisify(execFile)(process.execPath, args, { cwd, timeout: 60_000 })).stdout;
}

beforeAll(() => {
  installed = install();
  manifest = JSON.parse(readFileSync(join(installed.zerotime, 'package.json'), 'utf8'));
  // The peers of the integrations, and the types of Node.js.
  const peers = ['piscina', 'tinypool', '@opentelemetry/api', 'prom-client', 'undici'];
  for (const name of [...peers, '@types/node']) {
    link(installed.folder, name);
  }
  write('package.json', JSON.stringify({ type: 'module', private: true }));
});
afterAll(() => rmSync(installed.folder, { recursive: true }));

/** The files of the package that this entry point loads, by static and dynamic imports. */
async function filesBehind(entry: string): Promise<string[]> {
  const { metafile } = await esbuild({
    stdin: { contents: `export * from '${entry}';`, resolveDir: installed.folder },
    absWorkingDir: installed.zerotime,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    treeShaking: false,
  });
  return Object.keys(metafile.inputs).filter((path) => path.startsWith('lib/'));
}

const ENTRIES = [
  ...[
    'index',
    'keyed',
    'fetch',
    'host',
    'http',
    'load',
    'opentelemetry',
    'opentelemetry-metrics',
    'opentelemetry-register',
    'piscina',
    'prometheus',
    'redis',
    'streams',
  ],
  'undici',
  ...['throttle', 'tinypool'],
];
const COMMAND = [
  ...['LICENCES.txt', 'charts.js', 'main.js'],
  ...['closed-worker.js', 'echo-server.js', 'load-process.js', 'load-worker.js', 'task-worker.js'],
];

const TOP_PAGES = ['CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', 'SECURITY.md'];

describe('the packed file', () => {
  test('contains its entry points with their types and sources, the command, and its pages', () => {
    const { files } = installed;
    const beside = files.filter((file) => !file.startsWith('lib/'));
    const pages = beside.filter((file) => !/^docs\/([\w-]+\.md|images\/[\w-]+\.svg)$/.test(file));
    expect(pages).toEqual([...TOP_PAGES, 'LICENSE', 'package.json'].sort());
    const command = [...COMMAND, 'uplot.css', 'uplot.js'].map((name) => `lib/cli/${name}`);
    expect(files).toEqual(expect.arrayContaining(command));
    for (const name of ENTRIES) expect(files).toContain(`lib/${name}.js`);
    const library = files.filter((file) => /^lib\/[^/]*\.js$/.test(file));
    const maps = library.map((file) => `${file}.map`);
    const types = files.filter((file) =>
      /^lib\/(shared-[\w-]+|opentelemetry-\w+|\w+)\.d\.ts$/.test(file),
    );
    for (const name of ENTRIES) expect(types).toContain(`lib/${name}.d.ts`);
    expect(files).toEqual([...beside, ...command, ...library, ...maps, ...types].sort());
  });

  test('contains every page and picture that one of its pages links to', () => {
    const pages = installed.files.filter((file) => file.endsWith('.md'));
    expect(pages.length).toBeGreaterThan(15);
    const missing = pages.flatMap((page) => {
      const text = readFileSync(join(installed.zerotime, page), 'utf8');
      const links = text
        .replaceAll(/^```[\s\S]*?^```$/gm, '')
        .matchAll(/\]\((?!https?:|#)([^)\s#]+)/g);
      return [...links]
        .map(([, to = '']) => normalize(join(dirname(page), to)))
        .filter((path) => !installed.files.includes(path))
        .map((path) => `${page}: ${path}`);
    });
    expect(missing).toEqual([]);
  });

  test('contains no path of the machine that built it', () => {
    for (const file of installed.files) {
      const text = readFileSync(join(installed.zerotime, file), 'utf8');
      expect(text, file).not.toContain(process.cwd());
    }
  });

  test('shows a debugger the sources, but not those of the compiled engine', () => {
    const maps = installed.files.filter((file) => file.endsWith('.map'));
    const shown = maps.flatMap((file) => {
      const map = JSON.parse(readFileSync(join(installed.zerotime, file), 'utf8'));
      return map.sources.flatMap((source: string, i: number) => {
        // Of packages, and what the build puts in place of them.
        if (!source.startsWith('../src/')) {
          expect(map.sourcesContent[i]).toBeNull();
          return [];
        }
        const text = readFileSync(new URL(`../../${source.slice(3)}`, import.meta.url), 'utf8');
        if (source.includes('/build/')) return [];
        expect(map.sourcesContent[i]).toBe(text);
        return [source];
      });
    });
    expect(shown).toContain('../src/limiters/token-bucket.ts');
  });

  test('has a core of less than 96 KiB: what the main entry point loads, without types', async () => {
    const core = await filesBehind('zerotime');
    expect(core.length).toBeLessThan(8);
    const bytes = archivedBytes(installed, core);
    console.info(
      `${core.length} files, ${(bytes / KIB).toFixed(1)} KiB of ${(installed.packedBytes / KIB).toFixed(1)} KiB`,
    );
    expect(bytes).toBeLessThan(96 * KIB);
    // Each thread that imports it keeps its text.
    const text = core.map((path) => statSync(join(installed.zerotime, path)).size);
    expect(text.reduce((sum, size) => sum + size)).toBeLessThan(270 * KIB);
  });

  test('depends on no package, and ships the licence of each package in the command', () => {
    expect(manifest).not.toHaveProperty('dependencies');
    const licences = readFileSync(join(installed.zerotime, 'lib/cli/LICENCES.txt'), 'utf8');
    const parts = licences.split(/^-{80}$/m).map((part) => part.trim());
    const named = parts.map((part) => part.split(' ', 1)[0]);
    expect(named).toEqual(expect.arrayContaining(['commander', 'undici', 'uplot', 'pako']));
    for (const part of parts.slice(1)) expect(part).toMatch(/Permission is|Redistribution and use/);
  });
});

describe('installed into an empty project', () => {
  const examples = examplesOf('README.md', readme);

  test.each(examples.map((example) => ({ line: example.line, example })))(
    "README's example of line $line runs as printed, as plain JavaScript",
    async ({ example }) => {
      const file = write(`readme-${example.line}.js`, example.code);
      expect(example.output).not.toBe('');
      expect(await run(file)).toBe(example.output);
    },
  );

  test("the README's command runs as printed, but on a test server and for half a second", async () => {
    const [printed] = /(?<=^npx )zerotime load .*$/m.exec(readme) ?? [];
    const { url, kill } = await httpServer((_, response) => response.end());
    onTestFinished(kill);
    const args = (printed ?? '')
      .replace(/http\S+/, url)
      .replace('--duration 10s', '--duration 0.5s');
    expect(args).toMatch(/^zerotime load http\S+ .*--duration 0.5s/);
    const bin = join(installed.zerotime, 'lib/cli/main.js');
    // The server shares its processor with these tests, which decides how much it answers in time.
    const noGates = ['--min-rate', '0%', '--max-errors', '100%'];
    const report = await run(bin, ...args.split(' ').slice(1), ...noGates);
    expect(report).toContain('Guarantee   ✔ held');
    expect(report).toMatch(/200 OK +\d/);
  });

  test('drives a module, in threads of its own', async () => {
    write('task.js', 'export default ({ sequence }) => { if (sequence === 0) throw 1; };');
    const file = write(
      'drive.js',
      `import { drive } from 'zerotime/load';
      const options = { task: new URL('./task.js', import.meta.url), threads: 2, durationMs: 200 };
      for (const rate of [100, Infinity]) {
        let result; // a busy machine may hold up a thread for all of its run
        do result = await drive({ ...options, rate }); while (result.calls.sent === 0);
        const { loop, errors, threads } = result;
        console.log(loop, errors[0]?.kind, threads.map(({ crash }) => crash));
      }`,
    );
    expect(await run(file)).toBe(
      'open thrown number [ null, null ]\nclosed undefined [ null, null ]\n',
    );
  });

  test('ships the licences of all packages in its entry points', () => {
    const licences = readFileSync(join(installed.zerotime, 'lib/cli/LICENCES.txt'), 'utf8');
    const maps = installed.files.filter((file) => /^lib\/[^/]*\.js\.map$/.test(file));
    const packages = maps.flatMap((file) => {
      const { sources } = JSON.parse(readFileSync(join(installed.zerotime, file), 'utf8'));
      return sources.flatMap(
        (source: string) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? [],
      );
    });
    expect(packages).toContain('hdr-histogram-js');
    for (const name of new Set(packages)) expect(licences).toMatch(new RegExp(`^${name} `, 'm'));
  });

  /** Errors of the compiler in code that uses the package. */
  function complaints(name: string, code: string, options: ts.CompilerOptions): string[] {
    const program = ts.createProgram([write(name, code)], {
      target: ts.ScriptTarget.ES2023,
      typeRoots: [join(installed.folder, 'node_modules/@types')],
      strict: true,
      noEmit: true,
      ...options,
    });
    return ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  }

  test('has types for TypeScript with moduleResolution nodenext, without the types of Node.js', () => {
    const lib = ['es2023', 'es2024.sharedmemory', 'esnext.disposable', 'dom'];
    const found = complaints('nodenext.ts', TYPED, {
      module: ts.ModuleKind.NodeNext,
      lib: lib.map((name) => `lib.${name}.d.ts`),
      types: [],
    });
    expect(found).toEqual([]);
  });

  test('has types for TypeScript with moduleResolution bundler, and for the integrations', () => {
    const found = complaints('bundler.ts', TYPED + TYPED_INTEGRATIONS, {
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      types: ['node'],
      skipLibCheck: true,
    });
    expect(found).toEqual([]);
  });
});

describe('a bundle', () => {
  test('of one limiter contains no other limiter, command or integration', async () => {
    const outfile = join(installed.folder, 'one.js');
    const bundle = async (options: BuildOptions) => {
      await esbuild({
        stdin: {
          contents:
            "import { TokenBucket } from 'zerotime'; console.log(TokenBucket.create({ rate: 1, burst: 1 }).limit);",
          resolveDir: installed.folder,
        },
        outfile,
        bundle: true,
        format: 'esm',
        platform: 'neutral',
        external: ['node:worker_threads'],
        ...options,
      });
      expect(await run(outfile)).toBe('1\n');
      return readFileSync(outfile, 'utf8');
    };
    const code = await bundle({});
    expect(code).toContain('TokenBucket = class');
    // Names come with the class Region.
    expect(code).not.toContain('onMismatch');
    const others = /(Window|Log|Leaky\w*|Sometimes|Keyed\w*|Fleet\w*) = class|siphash|commander/;
    expect(others.exec(code)?.[0]).toBe(undefined);
    const minified = await bundle({ minify: true });
    const zipped = gzipSync(minified, { level: 9 }).byteLength;
    console.info(`minified: ${minified.length} bytes, with gzip ${zipped}`);
    expect(zipped).toBeLessThan(MOST_OF_ONE_LIMITER);
  });

  test('of a limiter with a name contains the code that opens it', async () => {
    const outfile = join(installed.folder, 'named.js');
    const contents = `import { ManualClock, Region, TokenBucket } from 'zerotime';
      const [region, limit] = [Region.create(), { rate: 1, burst: 3 }];
      const clock = ManualClock.open(region, 'clock');
      const open = () => TokenBucket.open(Region.attach(region.handle), 'api', { ...limit, clock });
      console.log(open().consumeOrDrain(2), open().consumeOrDrain(2));`;
    await esbuild({
      stdin: { contents, resolveDir: installed.folder },
      outfile,
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'neutral',
      external: ['node:worker_threads'],
    });
    expect(await run(outfile)).toBe('2 1\n');
  });

  test('made with ZEROTIME_WASM_ONLY has no JavaScript target, and throws if it needs one', async () => {
    const program = (kernel: string) => `import { TokenBucket } from 'zerotime';
      const limit = { rate: 1, burst: 3, kernel: '${kernel}' };
      try { console.log(TokenBucket.create(limit).consumeOrDrain(5)); }
      catch ({ code }) { console.log(code); }`;
    const printed = async (kernel: string) => {
      const outfile = join(installed.folder, `only-${kernel}.js`);
      await esbuild({
        stdin: { contents: program(kernel), resolveDir: installed.folder },
        outfile,
        bundle: true,
        minify: true,
        format: 'esm',
        platform: 'neutral',
        external: ['node:worker_threads'],
        define: { ZEROTIME_WASM_ONLY: 'true' },
      });
      expect(gzipSync(readFileSync(outfile), { level: 9 }).byteLength).toBeLessThan(
        MOST_WITH_WASM_ONLY,
      );
      return run(outfile);
    };
    expect(await printed('wasm')).toBe('3\n');
    expect(await printed('atomics')).toBe('ERR_NO_WEB_ASSEMBLY\n');
  });

  const bundlers = {
    esbuild: async (entries: Record<string, string>, outdir: string) => {
      await esbuild({
        entryPoints: entries,
        outdir,
        bundle: true,
        format: 'esm',
        platform: 'node',
      });
    },
    'esbuild, minified': async (entries: Record<string, string>, outdir: string) => {
      await esbuild({
        entryPoints: entries,
        outdir,
        bundle: true,
        minify: true,
        keepNames: true,
        splitting: true,
        target: 'es2022',
        format: 'esm',
        platform: 'node',
      });
    },
    vite: async (input: Record<string, string>, outDir: string) => {
      await vite({
        configFile: false,
        root: installed.folder,
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
      const entries = { main: write('main.js', MAIN), worker: write('worker.js', WORKER) };
      const outdir = join(installed.folder, `bundled-by-${name.replaceAll(/\W/g, '-')}`);
      await bundle(entries, outdir);
      // Outside the package, so that the bundle must contain everything it needs.
      expect(readdirSync(outdir)).toEqual(expect.arrayContaining(['main.js', 'worker.js']));
      for (const file of readdirSync(outdir).filter((file) => file.endsWith('.js'))) {
        expect(readFileSync(join(outdir, file), 'utf8')).not.toMatch(/from\s*["']zerotime/);
      }
      expect(await run(join(outdir, 'main.js'))).toBe('100 wasm\n');
    },
  );
});
