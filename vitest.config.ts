import { defineConfig } from 'vitest/config';

export default defineConfig({
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
    },
  },
});
