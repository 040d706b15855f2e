import { createHash } from 'node:crypto';
import { ARITHMETIC } from './script/arithmetic.ts';
import { BUCKET } from './script/bucket.ts';
import { OPERATIONS } from './script/operations.ts';

// The algorithm of src/kernel without its compare-and-exchange loop: a Redis server runs one script
// at a time.

/**
 * One script for all calls, on one key. Its arguments:
 *
 *     1 the operation: take, drain, return, cancel or change
 *     2 the limit that the caller assumes: see limit-text.ts
 *     3 1 if that is the limit of its options, with which a missing bucket is created
 *     4 the deadline in microseconds of the server's clock, after which the caller has given up
 *     5 for tests, the time in microseconds instead of the server's; otherwise empty
 *     6 and more: ticks, in two halves each, and other arguments of the operation
 *
 * Its answer, an array:
 *
 *     ok|later|never, serverUs, nowUs, originUs, high, low, generation, tokens taken
 *     stale, serverUs, limit    nothing was done: another limit applies
 *     gone, serverUs            nothing was done: the assumed limit is not stored
 *     late, serverUs            nothing was done: the caller has given up
 */
export const SCRIPT = `
local operation, mine, own, deadline, given = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

${ARITHMETIC}
${BUCKET}
${OPERATIONS}
if not isStored then store() end
return {result, server, now, text(origin), high, low, generation, taken}
`;

/** The name under which EVALSHA finds the script. */
export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');
