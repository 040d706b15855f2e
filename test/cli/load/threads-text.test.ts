import { expect, test } from 'vitest';
import { threadsText } from '../../../src/cli/load/command.ts';

test.each([
  [1, undefined, '1 thread'],
  [4, undefined, '4 threads that share one limiter'],
  [1, 1, '1 process of 1 thread'],
  [4, 2, '2 processes of 4 threads that share one limiter'],
])('%s threads in %s processes', (threads, processes, text) => {
  expect(threadsText(threads, processes)).toBe(text);
});
