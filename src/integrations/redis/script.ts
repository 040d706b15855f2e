import { createHash } from 'node:crypto';
import { ARITHMETIC } from './script/arithmetic.ts';
import { BUCKET, STORED } from './script/bucket.ts';
import { ANSWER } from './script/format.ts';
import { OPERATIONS } from './script/operations.ts';
import { SEVERAL_OPERATIONS } from './script/several-operations.ts';
import { SEVERAL_SHORT_TAKE } from './script/several-short-take.ts';
import { SEVERAL_STATE, SEVERAL_STORED } from './script/several-state.ts';
import { SHORT_TAKE } from './script/short-take.ts';

// The algorithm of src/kernel without its compare-and-exchange loop: a Redis server runs one script
// at a time.

/**
 * One script for all calls, on one key. Its arguments:
 *
 *     1 the operation: try, take, drain, return, cancel or change, after `own ` if the caller assumes
 *       the limits of its options, with which a missing bucket is created; all of that after `all `
 *       if it assumes several
 *     2 the limits that the caller assumes: see limit-text.ts
 *     3 the deadline in microseconds of the server's clock, after which the caller has given up;
 *       for tests the negative of the time to use instead of the server's
 *     4 an amount: ticks or, under several limits, tokens
 *     5 and more: of drain, the most tokens; of change, the next limits, and whether they are kept
 *       for good; of cancel, originUs, generation and the zero-times that the take has left
 *
 * Calls to try or take come in rows of equal ones, of three words each: the amount of one, empty for
 * one token; how long it may wait, empty for no time, in ticks or, under several limits, in
 * microseconds; how many they are. Of a single call, empty words at the end are left out. They are
 * served in their order.
 *
 * Its answer, an array that begins with one of `ANSWER` and the server's time. If it is done:
 *
 *     try                how many of each row were admitted, or MORE_THAN_BURST
 *     the other ones     nowUs, originUs, ticks of the zero-time before the operation under each
 *                        limit, generation, and then: of take, as of try; of drain, the tokens; of
 *                        cancel, 1 or 0
 *
 * On the short way, arrays would cost the server much of its time. So a single try is answered by
 * one number, the server's time, negative if the call is refused. Under one limit, a single take is
 * answered by that number, originUs, ticks of the zero-time and generation.
 *
 * A stale answer has the limits that apply. Ticks that a double cannot count are two halves,
 * high:low.
 */
export const SCRIPT = `local operation, mine = ARGV[1], ARGV[2]
${STORED}
${SHORT_TAKE}
${SEVERAL_SHORT_TAKE}
-- A function of its own, because each call clears the registers of all locals of its function.
local function takeLongWay()
${ARITHMETIC}
${SEVERAL_STORED}
if isAll and (numbers or not stored) then
${SEVERAL_STATE}
${SEVERAL_OPERATIONS}
end
${BUCKET}
${OPERATIONS}
if not isStored then store() end
local answer = {${ANSWER.done}, server}
if operation ~= 'try' then
  answer = {${ANSWER.done}, server, now, text(origin), inAnswer(readHigh, readLow), generation}
end
for _, result in ipairs(results) do answer[#answer + 1] = result end
return answer
end
return takeLongWay()
`;

/** The name under which EVALSHA finds the script. */
export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');
