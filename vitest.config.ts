import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';

const SRC = fileURLToPath(new URL('src/', import.meta.url));

/**
 * Threads and pages can't run TypeScript: those that sources under test start or write run what the
 * build compiled.
 */
const compiledCode: Plugin = {
  name: 'compiled-code',
  enforce: 'pre',
  transform(code, id) {
    if (!id.startsWith(SRC)) return undefined;
    if (id.endsWith('/report/render.ts')) {
      return {
        code: code.replace("'./charts.js'", "'../../../dist/src/cli/report/charts.js'"),
        map: null,
      };
    }
    if (!code.includes('../workers/')) return undefined;
    return { code: code.replaceAll(/'((?:\.\.\/)+)workers\//g, "'$1dist/workers/"), map: null };
  },
};

export default defineConfig({
  plugins: [compiledCode],
  test: {
    include: ['test/**/*.test.ts'],
    // A process for each file: a file that starts threads or leaves a clock running cannot reach
    // the next one, and the tests own worker_threads for themselves.
    pool: 'forks',
    // The tests start threads of their own and measure intervals; files side by side would
    // measure each other.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default'],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: [
        // WebAssembly as base64, made by the build.
        'src/kernel/build/*.ts',
        // AssemblyScript: what runs is WebAssembly, whose steps V8 does not count.
        'src/kernel/engine/**',
      ],
      reporter: ['text'],
      reportOnFailure: true,
      thresholds: { lines: 95, branches: 90 },
    },
  },
});
