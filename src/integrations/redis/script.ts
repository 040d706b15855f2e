import { createHash } from 'node:crypto';
import { RENEW_TICKS, SAME_INTERVAL } from '../../kernel/constants.ts';

// The loop of src/kernel on a Redis server, which runs one script at a time, so that none is needed.
//
// Lua counts in doubles, which are exact below 2^53, and times are up to 2^60 ticks. So each is held
// as in the kernel that is written in JavaScript: high * 2^29 + low, two whole numbers whose sums and
// differences are small. `value` of such a sum is rounded once, so its sign is exact.

/** A time in ticks is so many times its high part, and its low part. */
export const HALF = 2 ** 29;
/** How a bucket's value begins: the version of its format. */
const FORMAT = 'zerotime1';
/** How the script's complaint about a value that is no bucket's begins. */
export const NO_BUCKET = 'ZEROTIMENOBUCKET';

/**
 * One script for all calls, on one key. Its arguments:
 *
 *     1 what to do: take, drain, return, cancel or change
 *     2 the limit that the caller reckons with: see limit-text.ts
 *     3 1 if that is the limit of its options, which makes a bucket where there is none
 *     4 the instant, in microseconds of the server's clock, past which the caller has given up
 *     5 the time in microseconds instead of the server's, for tests; otherwise empty
 *     6 and more: ticks, in two halves each, and what else the call needs
 *
 * Its answer, an array:
 *
 *     ok|later|never, serverUs, nowUs, originUs, high, low, generation, tokens taken
 *     stale, serverUs, limit    nothing was done: another limit is in force
 *     gone, serverUs            nothing was done: the limit that the caller reckons with is not stored
 *     late, serverUs            nothing was done: the caller has given up
 */
export const SCRIPT = `
local HALF = ${HALF}
local operation, mine, own, deadline, given = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- '%.17g' says any number exactly, and takes ten times as long.
local function text(number)
  return string.format(number == math.floor(number) and '%d' or '%.17g', number)
end
local function value(high, low) return high * HALF + low end
local function round(number)
  local whole = math.floor(number)
  if number - whole >= 0.5 then whole = whole + 1 end
  return whole
end
-- The low half within its range.
local function settle(high, low)
  local carry = math.floor(low / HALF)
  return high + carry, low - carry * HALF
end
local function split(ticks) return settle(0, ticks) end

-- The whole part of a * b / c, and whether there is a rest: long division, bit by bit, of
-- a = high * HALF + low, at least 0. Exact for b and c of at most 2^52.
local function divide(high, low, b, c)
  local part = math.fmod(b, c)
  local wholeHigh, wholeLow = split((b - part) / c)
  local quotientHigh, quotientLow, rest = 0, 0, 0
  local function shift(half, bit)
    while bit >= 1 do
      quotientHigh, quotientLow, rest = quotientHigh * 2, quotientLow * 2, rest * 2
      if rest >= c then rest = rest - c; quotientLow = quotientLow + 1 end
      if half >= bit then
        half = half - bit
        quotientHigh, quotientLow = quotientHigh + wholeHigh, quotientLow + wholeLow
        rest = rest + part
        if rest >= c then rest = rest - c; quotientLow = quotientLow + 1 end
      end
      quotientHigh, quotientLow = settle(quotientHigh, quotientLow)
      bit = bit / 2
    end
  end
  if high > 0 then shift(high, 2147483648) end
  shift(low, HALF / 2)
  return quotientHigh, quotientLow, rest > 0
end

local function readLimit(limit)
  local perToken, perMicro, capHigh, capLow, fill =
    string.match(limit, '^(%S+) (%S+) (%S+) (%S+) (%S+) ')
  return {
    perToken = tonumber(perToken), perMicro = tonumber(perMicro), fill = tonumber(fill),
    capHigh = tonumber(capHigh), capLow = tonumber(capLow),
  }
end

local server
if given ~= '' then
  server = tonumber(given)
else
  local time = redis.call('TIME')
  server = tonumber(time[1]) * 1000000 + tonumber(time[2])
  if server > tonumber(deadline) then return {'late', server} end
end

local stored = redis.call('GET', KEYS[1])
local limit = mine
local seen, lag, generation, origin, kept = server, 0, 0, server, '0'
local high, low
if stored then
  local a, b, c, d, e, f, g, theirs = string.match(stored,
    '^${FORMAT} (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.+)$')
  if theirs == nil then
    return redis.error_reply('${NO_BUCKET} the key holds something else')
  end
  if theirs ~= mine then return {'stale', server, theirs} end
  seen, lag, generation = tonumber(a), tonumber(b), tonumber(c)
  origin, high, low = tonumber(d), tonumber(e), tonumber(f)
  kept = g
elseif own ~= '1' then
  return {'gone', server}
end
local bucket = readLimit(limit)
if not stored then high, low = settle(-bucket.capHigh, -bucket.capLow) end

-- A clock that was set back stands still until it is where it was, from where it goes on.
local now = server + lag
local stepped = now < seen
if stepped then
  lag = seen - server
  now = seen
end

-- Now, in ticks since the origin, and the last fill at or before it.
local ticks, grid
local function look()
  ticks = round((now - origin) * bucket.perMicro)
  grid = ticks
  if bucket.fill ~= 0 then grid = math.floor(ticks / bucket.fill) * bucket.fill end
end
look()

-- Puts the zero-time so far ahead of now.
local function place(aheadHigh, aheadLow)
  local gridHigh, gridLow = split(grid)
  high, low = settle(gridHigh + aheadHigh, gridLow + aheadLow)
end
-- How far the zero-time is ahead of now.
local function ahead()
  local gridHigh, gridLow = split(grid)
  return high - gridHigh, low - gridLow
end
-- At most 2^59 ticks, both ways.
local function within(aheadHigh, aheadLow)
  aheadHigh, aheadLow = settle(aheadHigh, aheadLow)
  if aheadHigh >= 1073741824 then return 1073741824, 0 end
  if aheadHigh < -1073741824 then return -1073741824, 0 end
  return aheadHigh, aheadLow
end

-- The origin moves up before now is too many ticks for a double.
if ticks > ${RENEW_TICKS} then
  local aheadHigh, aheadLow = within(ahead())
  origin = bucket.fill == 0 and now or origin + grid / bucket.perMicro
  generation = generation + 1
  look()
  place(aheadHigh, aheadLow)
end

local aheadHigh, aheadLow = ahead()
if value(aheadHigh + bucket.capHigh, aheadLow + bucket.capLow) < 0 then
  aheadHigh, aheadLow = -bucket.capHigh, -bucket.capLow
end

-- Ticks until as many have flowed in, of which a quantum bucket gets a fill at a time.
local function untilIn(missing)
  if bucket.fill == 0 or missing <= 0 then return missing end
  return math.ceil(missing / bucket.fill) * bucket.fill - (ticks - grid)
end

local isStored = not (stepped and stored)
local function store()
  isStored = true
  -- All but the origin are whole.
  local line = string.format('${FORMAT} %d %d %d %s %d %d %s %s',
    now, lag, generation, text(origin), high, low, kept, limit)
  if given ~= '' or kept == '1' then
    redis.call('SET', KEYS[1], line)
  else
    -- A bucket that is full again says no more than none.
    local full = untilIn(value(aheadHigh + bucket.capHigh, aheadLow + bucket.capLow))
    local ms = math.ceil(full / bucket.perMicro / 1000) + 1
    redis.call('SET', KEYS[1], line, 'PX', string.format('%d', ms))
  end
end
local function move(toHigh, toLow)
  aheadHigh, aheadLow = toHigh, toLow
  place(aheadHigh, aheadLow)
  store()
end

local result, taken = 'ok', 0
local amountHigh, amountLow = tonumber(ARGV[6]), tonumber(ARGV[7])
if operation == 'take' then
  local dueHigh, dueLow = aheadHigh + amountHigh, aheadLow + amountLow
  if amountHigh == 0 and amountLow == 0 then
    result = 'ok'
  elseif value(amountHigh - bucket.capHigh, amountLow - bucket.capLow) > 0 then
    result = 'never'
  elseif untilIn(value(dueHigh, dueLow)) > tonumber(ARGV[8]) then
    result = 'later'
  else
    move(dueHigh, dueLow)
  end
elseif operation == 'drain' then
  local most = tonumber(ARGV[8])
  local gone = 0
  if value(aheadHigh + amountHigh, aheadLow + amountLow) <= 0 then
    gone = most
    taken = ARGV[8]
  elseif value(aheadHigh, aheadLow) < 0 then
    local heldHigh, heldLow = settle(-aheadHigh, -aheadLow)
    local wholeHigh, wholeLow = divide(heldHigh, heldLow, 1, bucket.perToken)
    gone = value(wholeHigh, wholeLow)
    amountHigh, amountLow = divide(wholeHigh, wholeLow, bucket.perToken, 1)
  end
  if gone < most then taken = gone end
  if gone > 0 and (amountHigh > 0 or amountLow > 0) then
    move(aheadHigh + amountHigh, aheadLow + amountLow)
  end
elseif operation == 'return' then
  local toHigh, toLow = aheadHigh - amountHigh, aheadLow - amountLow
  if value(toHigh + bucket.capHigh, toLow + bucket.capLow) < 0 then
    toHigh, toLow = -bucket.capHigh, -bucket.capLow
  end
  if stored then move(toHigh, toLow) end
elseif operation == 'cancel' then
  -- Only what was written last, to this bucket and under this limit.
  local isLatest = stored and high == tonumber(ARGV[8]) and low == tonumber(ARGV[9])
  if isLatest and origin == tonumber(ARGV[10]) and generation == tonumber(ARGV[11]) then
    high, low = settle(high - amountHigh, low - amountLow)
    aheadHigh, aheadLow = ahead()
    store()
  else
    result = 'later'
  end
elseif operation == 'change' then
  local old, nextLimit = bucket, readLimit(ARGV[8])
  local interval = old.fill / old.perMicro
  local nextInterval = nextLimit.fill / nextLimit.perMicro
  -- The same tokens in ticks of the next limit, rounded towards fewer, also in debt.
  if old.perToken == 0 then
    aheadHigh, aheadLow = -nextLimit.capHigh, -nextLimit.capLow
  elseif value(aheadHigh, aheadLow) > 0 then
    aheadHigh, aheadLow = settle(aheadHigh, aheadLow)
    local debtHigh, debtLow, more = divide(aheadHigh, aheadLow, nextLimit.perToken, old.perToken)
    aheadHigh, aheadLow = debtHigh, debtLow + (more and 1 or 0)
  else
    local heldHigh, heldLow = settle(-aheadHigh, -aheadLow)
    heldHigh, heldLow = divide(heldHigh, heldLow, nextLimit.perToken, old.perToken)
    aheadHigh, aheadLow = -heldHigh, -heldLow
  end
  if value(aheadHigh + nextLimit.capHigh, aheadLow + nextLimit.capLow) < 0 then
    aheadHigh, aheadLow = -nextLimit.capHigh, -nextLimit.capLow
  end
  -- Fills of the same interval go on as before.
  if nextInterval == 0 or math.abs(nextInterval - interval) > interval * ${SAME_INTERVAL} then
    origin = now
  else
    origin = origin + grid / old.perMicro
  end
  bucket, limit, kept = nextLimit, ARGV[8], ARGV[9]
  generation = generation + 1
  look()
  move(within(aheadHigh, aheadLow))
end

if not isStored then store() end
return {result, server, now, text(origin), high, low, generation, taken}
`;

/** What EVALSHA calls the script by. */
export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');
