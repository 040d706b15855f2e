import fc from 'fast-check';

// Set up before the tests that each mutant has to pass: the same sequences every time, and not many.
fc.configureGlobal({ seed: 1, interruptAfterTimeLimit: 100 });
