import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Project } from './project.ts';

export const BUNDLERS = ['esbuild', 'rollup', '@rollup/plugin-node-resolve', 'vite', 'webpack'];

/** Programs with one limiter, and with everything. */
const PROGRAMS = {
  TokenBucket: `import { TokenBucket } from 'zerotime';
console.log(TokenBucket.create({ rate: 1, burst: 3 }).consumeOrDrain(5));`,
  'TokenBucket and TickerClock': `import { TickerClock, TokenBucket } from 'zerotime';
const clock = await TickerClock.create();
console.log(TokenBucket.create({ rate: 1, burst: 3, clock }).consumeOrDrain(5));
clock.dispose();`,
  everything: `import * as zerotime from 'zerotime';
globalThis.zerotime = zerotime;
console.log(zerotime.TokenBucket.create({ rate: 1, burst: 3 }).consumeOrDrain(5));`,
};

/** Each writes a bundle of main.js to bundle.mjs. */
const BUNDLING: Readonly<Record<string, string>> = {
  'esbuild, node': `await (await import('esbuild')).build({ entryPoints: ['main.js'], outfile: 'bundle.mjs', bundle: true, minify: true, format: 'esm', platform: 'node' });`,
  'esbuild, browser': `await (await import('esbuild')).build({ entryPoints: ['main.js'], outfile: 'bundle.mjs', bundle: true, minify: true, format: 'esm', target: 'es2022', platform: 'browser' });`,
  'esbuild, WebAssembly only': `await (await import('esbuild')).build({ entryPoints: ['main.js'], outfile: 'bundle.mjs', bundle: true, minify: true, format: 'esm', target: 'es2022', platform: 'browser', define: { ZEROTIME_WASM_ONLY: 'true' } });`,
  'rollup, esbuild': `const resolve = (await import('@rollup/plugin-node-resolve')).default;
const { transform } = await import('esbuild');
const bundle = await (await import('rollup')).rollup({ input: 'main.js', plugins: [resolve()], onwarn: (w) => { throw new Error(w.message); } });
await bundle.write({ file: 'bundle.mjs', plugins: [{ name: 'minify', renderChunk: (code) => transform(code, { minify: true }) }] });`,
  'vite, browser': `await (await import('vite')).build({ configFile: false, logLevel: 'error', build: { target: 'es2022', outDir: 'vite', rollupOptions: { input: 'main.js', output: { entryFileNames: 'main.mjs' } } } });
(await import('node:fs')).copyFileSync('vite/main.mjs', 'bundle.mjs');`,
  'webpack, node': webpack('node'),
  'webpack, web': webpack('web'),
};

function webpack(target: string): string {
  // It warns of assets above 250 kB; a bundle of everything is larger.
  return `const webpack = (await import('webpack')).default;
await new Promise((resolve, reject) => webpack({ mode: 'production', target: ['${target}', 'es2022'], entry: './main.js', experiments: { outputModule: true }, performance: { maxAssetSize: 305000, maxEntrypointSize: 305000 }, output: { path: process.cwd(), filename: 'bundle.mjs', module: true } },
  (error, stats) => (error || stats.hasErrors() || stats.hasWarnings() ? reject(error ?? new Error(stats.toString())) : resolve())));`;
}

/** A bundle that ran, and its size in bytes. */
export interface BundleSize {
  readonly bundler: string;
  readonly program: string;
  readonly minified: number;
  readonly zipped: number;
}

/** Bundles each program with each bundler, and runs it. */
export async function* bundleWithEach(project: Project): AsyncGenerator<BundleSize> {
  for (const [program, code] of Object.entries(PROGRAMS)) {
    project.write('main.js', code);
    for (const [bundler, script] of Object.entries(BUNDLING)) {
      project.write('bundling.mjs', script);
      await project.run(process.execPath, ['bundling.mjs']);
      const printed = await project.run(process.execPath, ['bundle.mjs']);
      if (printed !== '3\n') throw new Error(`${bundler}: ${program} printed ${printed}`);
      const bundle = readFileSync(join(project.folder, 'bundle.mjs'));
      const zipped = gzipSync(bundle, { level: 9 }).byteLength;
      yield { bundler, program, minified: bundle.byteLength, zipped };
    }
  }
}
