import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { httpServer } from '../cli/support/servers.ts';
import { examplesOf } from '../docs/fences.ts';
import { TYPED } from './compilers.ts';
import { DRIVE, type LinkedProject, linkedProject } from './installed.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** Uses each entry point and its types. */
const TYPED_ENTRIES = `${TYPED}
import type { TaskCall } from 'zerotime/load';
import { throttled } from 'zerotime/throttle';
export const paced: Promise<number> = throttled((n: number) => n * n, { limiter, key: (n) => n })(3);
export const task = ({ sequence, signal }: TaskCall): boolean => signal.aborted || sequence > 5;
export const drivenByUrl = drive({ task: new URL('file:///a.mjs'), rate: 5 });
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

let project: LinkedProject;
beforeAll(() => {
  project = linkedProject();
});
afterAll(() => project.remove());

describe('installed into an empty project', () => {
  const examples = examplesOf('README.md', readme);

  test.each(examples.map((example) => ({ line: example.line, example })))(
    "README's example of line $line runs as printed, as plain JavaScript",
    async ({ example }) => {
      const file = project.write(`readme-${example.line}.js`, example.code);
      expect(example.output).not.toBe('');
      expect(await project.run(file)).toBe(example.output);
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
    const bin = join(project.zerotime, 'lib/cli/main.js');
    // The server shares its processor with these tests, which decides how much it answers in time.
    const noGates = ['--min-rate', '0%', '--max-errors', '100%'];
    const report = await project.run(bin, ...args.split(' ').slice(1), ...noGates);
    expect(report).toContain('Guarantee   ✔ held');
    expect(report).toMatch(/200 OK +\d/);
  });

  test('drives a module, in threads of its own', async () => {
    const [file = ''] = DRIVE.files.map(({ name, text }) => project.write(name, text));
    expect(await project.run(file)).toBe(DRIVE.printed);
  });

  /** Whether a file is neither the project's nor the package's. */
  const isForeign = (file: string) =>
    !file.startsWith(project.zerotime) && /\/node_modules\//.test(file);

  /**
   * Errors of the compiler in code that uses the package, and in the package's declarations unless
   * they are skipped. Those of the language and of Node.js take ten times as long.
   */
  function complaints(name: string, code: string, options: ts.CompilerOptions): string[] {
    const program = ts.createProgram([project.write(name, code)], {
      target: ts.ScriptTarget.ES2023,
      typeRoots: [join(project.folder, 'node_modules/@types')],
      strict: true,
      noEmit: true,
      ...options,
    });
    const own = program.getSourceFiles().filter(({ fileName }) => !isForeign(fileName));
    return [
      ...program.getConfigFileParsingDiagnostics(),
      ...program.getOptionsDiagnostics(),
      ...program.getGlobalDiagnostics(),
      ...own.flatMap((file) => [
        ...program.getSyntacticDiagnostics(file),
        ...program.getSemanticDiagnostics(file),
      ]),
    ].map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  }

  test('has types for TypeScript with moduleResolution nodenext, without the types of Node.js', () => {
    const lib = ['es2023', 'es2024.sharedmemory', 'esnext.disposable', 'dom'];
    const found = complaints('nodenext.ts', TYPED_ENTRIES, {
      module: ts.ModuleKind.NodeNext,
      lib: lib.map((name) => `lib.${name}.d.ts`),
      types: [],
    });
    expect(found).toEqual([]);
  });

  test('has types for zerotime/http without any framework, with declarations checked', () => {
    const code = `
      import { KeyedTokenBucket } from 'zerotime';
      import { honoMiddleware, nodeListener } from 'zerotime/http';
      const limiter = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 10 });
      honoMiddleware({ limiter, key: (context) => context.get('user') });
      nodeListener({ limiter, key: (request) => request.url ?? '' }, () => undefined);`;
    const found = complaints('http.ts', code, {
      module: ts.ModuleKind.NodeNext,
      types: ['node'],
      skipLibCheck: false,
    });
    expect(found).toEqual([]);
  });

  test('has types for TypeScript with moduleResolution bundler, and for the integrations', () => {
    const found = complaints('bundler.ts', TYPED_ENTRIES + TYPED_INTEGRATIONS, {
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      types: ['node'],
      skipLibCheck: true,
    });
    expect(found).toEqual([]);
  });
});
