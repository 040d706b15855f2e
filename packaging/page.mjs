// Puts the parts of the pages of --report and of `zerotime host serve` into lib/cli.

import { copyFile, mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CLI = new URL('../lib/cli/', import.meta.url);

/** A page that loads its scripts gets the charts from their own file. */
const chartsBeside = {
  name: 'charts-beside',
  setup({ onResolve }) {
    onResolve({ filter: /report\/charts\.ts$/ }, ({ kind }) =>
      kind === 'entry-point' ? undefined : { path: './charts.js', external: true },
    );
  },
};

await build({
  absWorkingDir: ROOT,
  entryPoints: { charts: 'src/cli/report/charts.ts', live: 'src/cli/host/serve/browser/live.ts' },
  plugins: [chartsBeside],
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
