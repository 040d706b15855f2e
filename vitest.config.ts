import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { IN_FULL } from './test/support/random.ts';

const BESIDE = fileURLToPath(new URL('src/load/beside.ts', import.meta.url));

/**
 * Threads and pages can't run TypeScript: those that sources under test start or write run what the
 * build put beside the bundled command.
 */
const builtCode: Plugin = {
  name: 'built-code',
  enforce: 'pre',
  transform(code, id) {
    if (id !== BESIDE) return undefined;
    return { code: code.replace('`./', '`../../lib/cli/'), map: null };
  },
};

/** Tests whose threads need the processors for themselves, to get into each other's way. */
const ONE_BY_ONE = [
  'test/integrations/opentelemetry/counted.test.ts',
  'test/integrations/redis/fleet-threads.test.ts',
  'test/limiters/{keyed-threads,linearizability,reconfigure-threads}.test.ts',
  'test/limiters/{reconfigure-waits,threads,wait-threads}.test.ts',
  'test/time/{ticker-thread,timer-thread}.test.ts',
];
/** Tests that measure intervals, or count what a process holds. They leave processors idle. */
const APART = [
  'test/cli/load/{command,fleet.e2e,load.e2e,load-failures.e2e}.test.ts',
  'test/load/load-thread.test.ts',
  'test/integrations/{piscina,pools,prometheus}.test.ts',
  'test/integrations/opentelemetry/rate-limiting-sampler.test.ts',
  'test/integrations/redis/{clock-steps,failures,fleet-servers,redis-token-bucket}.test.ts',
  'test/limiters/allocation.test.ts',
  'test/memory/{handle,region}.test.ts',
  'test/time/manual-clock.test.ts',
];
const ALL = ['test/**/*.test.ts'];
/** Of several seconds each: `npm run test:all` runs them, as continuous integration does. */
const LONG = [
  'test/cli/{host,host-serve}.e2e.test.ts',
  'test/cli/load/{command,fleet.e2e,load.e2e,load-failures.e2e}.test.ts',
  'test/load/{api/drive,capacity,load-thread,processes,run.e2e}.test.ts',
  'test/cli/compare/chance.test.ts',
  'test/cli/report/report.e2e.test.ts',
  'test/docs/{commands,examples,http-examples,pictures,playground.e2e,programs,tsx}.test.ts',
  'test/explorer/{explorer,nested,scenarios}.test.ts',
  'test/host/{death,host-region-process,operator-kills,reboot,sharing,storm}.test.ts',
  'test/integrations/piscina.test.ts',
  'test/integrations/opentelemetry/counted.test.ts',
  'test/integrations/redis/{cluster,failures,fleet-ends,fleet-host,fleet-recovery,fleet-servers,fleet-simulation,fleet-slow,fleet-threads,sentinel}.test.ts',
  'test/kernel/{killed-changes,keyed-limit-set-kernels,keyed-preemption,position,stalled-calls}.test.ts',
  'test/limiters/{adaptive-permits-server,allocation,killed-threads-bound,leaks}.test.ts',
  'test/memory/many-regions.test.ts',
  'test/mutants/scenes.test.ts',
  'test/package/*.test.ts',
];
const LEFT_OUT = IN_FULL ? [] : LONG;

export default defineConfig({
  plugins: [builtCode],
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'side by side',
          include: ALL,
          exclude: [...APART, ...ONE_BY_ONE, ...LEFT_OUT],
          // Most of these files are done sooner than a process has started.
          isolate: false,
          restoreMocks: true,
          // Some of them wait for servers, threads and timers: another one then has the processor.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'apart',
          include: APART,
          exclude: LEFT_OUT,
          isolate: false,
          // By default a processor is left idle: half of two.
          maxWorkers: '100%',
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'one by one',
          include: ONE_BY_ONE,
          exclude: LEFT_OUT,
          // Each test ends its threads; to start a process takes as long as many of these files.
          isolate: false,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
    // Processes: tests own their worker_threads for themselves.
    pool: 'forks',
    maxConcurrency: 4,
    // A file that has not changed since the last run is not compiled again.
    experimental: { fsModuleCache: true },
    setupFiles: ['test/support/no-trace.ts'],
    testTimeout: 120_000,
    // A page that a busy machine draws late.
    expect: { poll: { timeout: 60_000 } },
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
      reporter: ['text-summary'],
      reportOnFailure: true,
      thresholds: { lines: 95, branches: 90 },
    },
  },
});
