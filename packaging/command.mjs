// Bundles the command into lib/cli: its main file, the entry points of its threads, and the parts of
// a report. Whoever installs the package so installs no dependency.

import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { licencesOf } from './licences.mjs';
import { oneHistogram, PEERS, REQUIRE, replacing } from './packages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CLI = new URL('../lib/cli/', import.meta.url);

const plugins = [
  // Undici's HTTP client alone: the rest of undici takes most of the time to load.
  replacing(
    'client-of-undici',
    /^undici$/,
    `export { default as Client } from 'undici/lib/dispatcher/client.js';
    export { default as buildConnector } from 'undici/lib/core/connect.js';`,
  ),
  oneHistogram,
];

const { metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: {
    main: 'dist/src/cli/main.js',
    'load-process': 'dist/workers/load-process.js',
    'load-worker': 'dist/workers/load-worker.js',
    'task-worker': 'dist/workers/task-worker.js',
    'closed-worker': 'dist/workers/closed-worker.js',
    'echo-server': 'dist/workers/echo-server.js',
  },
  outdir: fileURLToPath(CLI),
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  external: PEERS,
  plugins,
  banner: { js: REQUIRE },
  metafile: true,
  logLevel: 'warning',
});

// The script of a page.
await build({
  absWorkingDir: ROOT,
  entryPoints: { charts: 'dist/src/cli/report/charts.js' },
  outdir: fileURLToPath(CLI),
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: 'warning',
});

await mkdir(CLI, { recursive: true });
const parts = {
  'uplot.js': 'node_modules/uplot/dist/uPlot.iife.min.js',
  'uplot.css': 'node_modules/uplot/dist/uPlot.min.css',
};
for (const [name, from] of Object.entries(parts)) {
  await copyFile(new URL(`../${from}`, import.meta.url), new URL(name, CLI));
}
const inputs = [...Object.keys(metafile.inputs), ...Object.values(parts)];
await writeFile(new URL('LICENCES.txt', CLI), await licencesOf(inputs));
