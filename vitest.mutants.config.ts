import { defineConfig } from 'vitest/config';

/**
 * Of tests that start threads, are about what is compiled, count to a million, or need the main
 * thread: Stryker runs tests in workers.
 */
const LEFT_OUT = [
  'four threads',
  'attaches a thread',
  'Unicode strings',
  'against the spender',
  'of another thread, which',
  'of other threads',
  'would last for years',
  'blocked by a ticker clock',
  'compiled SipHash',
  'compiled kernel is the default',
  'which share an instance',
  'smaller than 8 KiB',
  'million',
  'a table of',
  'a flood',
  '10,000',
  'polled every microsecond',
  'between any two accesses',
  'a sampler of the environment',
];

// The tests of `npm run test:mutants`. A mutant that survives has run all of those that reach it, so
// they are fast: only those of pools start threads, which run what the build compiled and not what
// was mutated.
export default defineConfig({
  test: {
    // With a fresh module graph for each file, a mutant takes twice as long.
    isolate: false,
    restoreMocks: true,
    setupFiles: ['test/support/short-properties.ts'],
    include: [
      'test/explorer/nested.test.ts',
      'test/kernel/{kernels,key-hash,position}.test.ts',
      'test/kernel/{claims,counters,damaged-cells,keyed-preemption,schedule}.test.ts',
      'test/integrations/{at-once,call-outcomes,pools}.test.ts',
      'test/limiters/*.test.ts',
      'test/memory/{handle,names}.test.ts',
      'test/{known-options,options}.test.ts',
      'test/throttle/*.test.ts',
    ],
    exclude: [
      'test/limiters/{allocation,keyed-threads,killed-threads-bound,leaks,linearizability}.test.ts',
      'test/limiters/{reconfigure-threads,semaphore-threads,threads,wait-threads}.test.ts',
      // Random calls that take long; one counts them.
      'test/limiters/{adaptive-permits-server,hostile-options,keyed-tier-bound}.test.ts',
      'test/limiters/{neighbours,promise-bound}.test.ts',
    ],
    testNamePattern: new RegExp(`^(?!.*(${LEFT_OUT.join('|')}))`),
    testTimeout: 120_000,
    env: {
      // Preemption sees into the JavaScript target only.
      ZEROTIME_KERNEL: 'atomics',
      ZEROTIME_SEED: '1',
      ZEROTIME_SHARE: '0.02',
    },
  },
});
