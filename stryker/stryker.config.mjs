// Mutation testing, `npm run test:mutants`: Stryker changes the sources one small step at a time, and
// the fast tests must notice. Part of it: `npm run test:mutants -- --mutate src/kernel/bucket/schedule.ts`.

export default {
  mutate: [
    'src/kernel/**/*.ts',
    'src/{limiters,throttle}/**/*.ts',
    // `npm run mutants` has its own mutants of the engine, which is AssemblyScript.
    '!src/kernel/{engine,build}/**',
  ],
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutants.config.ts' },
  coverageAnalysis: 'perTest',
  // A constant of the module is evaluated before any test: all tests would have to run on it.
  ignoreStatic: true,
  concurrency: 2,
  timeoutMS: 2_000,
  incremental: true,
  incrementalFile: 'reports/mutants.json',
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { logTests: false, reportTests: false, allowColor: false },
  thresholds: { high: 95, low: 90, break: 85 },
  ignorePatterns: ['coverage', 'docs', 'bench', 'biome.json'],
};
