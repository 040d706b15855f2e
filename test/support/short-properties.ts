import fc from 'fast-check';

// Setup for mutation tests: the same random sequences every time, and few of them.
fc.configureGlobal({ seed: 1, interruptAfterTimeLimit: 100 });
