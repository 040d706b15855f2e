// Bundles the command into lib/cli: its main file, the entry points of its threads, and the parts of
// a report. Whoever installs the package so installs no dependency.

import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { licencesOf } from './licences.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CLI = new URL('../lib/cli/', import.meta.url);

/** Peers of the package: loaded only if the user has them. */
const PEERS = ['koffi', 'redis'];

/** Answers imports that match `filter` with `contents`. */
function replacing(name, filter, contents) {
  return {
    name,
    setup({ onResolve, onLoad }) {
      onResolve({ filter }, () => ({ path: name, namespace: name }));
      onLoad({ filter: /^/, namespace: name }, () => ({ contents, resolveDir: ROOT }));
    },
  };
}

const plugins = [
  // Undici's HTTP client alone: the rest of undici takes most of the time to load.
  replacing(
    'client-of-undici',
    /^undici$/,
    `export { default as Client } from 'undici/lib/dispatcher/client.js';
    export { default as buildConnector } from 'undici/lib/core/connect.js';`,
  ),
  // The second implementation of hdr-histogram-js, which the command does not use.
  replacing(
    'no-wasm-histogram',
    /^\.\/wasm$/,
    'exports.WasmHistogram = class {}; exports.webAssemblyAvailable = false;',
  ),
];

/** Packages in CommonJS call require. */
const REQUIRE = `import { createRequire as __createRequire } from 'node:module';
const require = __createRequire(import.meta.url);`;

const { metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: {
    main: 'dist/src/cli/main.js',
    'load-process': 'dist/workers/load-process.js',
    'load-worker': 'dist/workers/load-worker.js',
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

await mkdir(CLI, { recursive: true });
const parts = {
  'charts.js': 'dist/src/cli/report/charts.js',
  'uplot.js': 'node_modules/uplot/dist/uPlot.iife.min.js',
  'uplot.css': 'node_modules/uplot/dist/uPlot.min.css',
};
for (const [name, from] of Object.entries(parts)) {
  await copyFile(new URL(`../${from}`, import.meta.url), new URL(name, CLI));
}
const inputs = [...Object.keys(metafile.inputs), ...Object.values(parts)];
await writeFile(new URL('LICENCES.txt', CLI), await licencesOf(inputs));
