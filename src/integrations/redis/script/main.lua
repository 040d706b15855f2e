-- The algorithm of src/kernel without its compare-and-exchange loop: a Redis server runs one script
-- at a time. One script for all calls, on one key. Its arguments:
--
--     1 the operation: try, take, drain, return, cancel or change, after `own ` if the caller
--       assumes the limits of its options, with which a missing bucket is created
--     2 the limits that the caller assumes: see limit-text.ts
--     3 the deadline in microseconds of the server's clock, after which the caller has given up;
--       for tests the negative of the time to use instead of the server's
--     4 and more: the tokens; of change, the next limits, and whether the key is kept for good; of
--       cancel, originUs, epoch, and each zero-time that the take has left and that it found
--
-- Calls to try or take come in rows of equal ones, of three words each: the tokens of one, empty
-- for one token; how many microseconds it may wait, empty for none; how many they are. Of a single
-- call, empty words at the end are left out. They are served in their order.
--
-- The answer is an array that begins with one of ANSWER and the server's time. If it is done:
--
--     try       how many of each row were admitted, or MORE_THAN_BURST
--     others    nowUs, originUs, ticks of the zero-time before the operation under each limit,
--               epoch, and then: of take, as of try; of drain, the tokens; of cancel, 1 or 0
--
-- On the short path, arrays would cost the server much of its time. So a single try is answered by
-- one number, the server's time, negative if the call is refused; a single take by that number,
-- originUs, ticks of the zero-times and epoch.
--
-- A stale answer has the limits that apply. Ticks that a double can't count are two halves,
-- high:low.
--
-- build.mjs puts the other files in the place of INCLUDE, numbers in the place of names in capitals,
-- and leaves out comments.
local operation, mine = ARGV[1], ARGV[2]
local server = ARGV[3] + 0
local isTimed = server < 0
if isTimed then
  server = -server
else
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  if now > server then return {ANSWER_LATE, now} end
  server = now
end
local stored = redis.call('GET', KEYS[1])
INCLUDE 'short-take.lua'
-- A function of its own, because each call clears the registers of all locals of its function.
local function takeLongPath()
  INCLUDE 'arithmetic.lua'
  INCLUDE 'bucket.lua'
  INCLUDE 'tokens.lua'
  INCLUDE 'operations.lua'
end
return takeLongPath()
