import '../limiters/contract.test.ts';
import { runClaims } from './harness.ts';

// Runs in a web worker: the contract suite, with the harness in place of vitest.

declare function postMessage(report: Awaited<ReturnType<typeof runClaims>>): void;

runClaims().then(postMessage);
