import { defineConfig } from 'vitest/config';

// The tests of `npm run test:mutants`. A mutant that survives has run all of those that reach it, so
// they are fast: none starts threads, which run what the build compiled and not what was mutated.
export default defineConfig({
  test: {
    // With a fresh module graph for each file, a mutant takes twice as long.
    isolate: false,
    include: [
      'test/kernel/{claims,counters,keyed-adoption,keyed-preemption,renewal,schedule,tenure}.test.ts',
      'test/kernel/{window-kernels,window-preemption}.test.ts',
      'test/limiters/{all-of,cancel,contract,fixed-window,headers,keyed-handle}.test.ts',
      'test/limiters/{keyed-token-bucket,leaky-bucket,lease,reconfigure,sliding-log}.test.ts',
      'test/limiters/{sliding-window,sometimes,systems-go,token-bucket,wait}.test.ts',
      'test/limiters/{window-clocks,window-waits}.test.ts',
      'test/memory/handle.test.ts',
      'test/options.test.ts',
    ],
    testNamePattern:
      /^(?!.*(four threads|attaches a thread|a thread that is held|Unicode strings|against the spender))/,
    testTimeout: 120_000,
    // The compiled kernels would answer in the place of what is mutated.
    env: { ZEROTIME_KERNEL: 'atomics' },
  },
});
