import { createHash } from 'node:crypto';
import { RENEW_TICKS, SAME_INTERVAL } from '../../kernel/constants.ts';

// The algorithm of src/kernel without its compare-and-exchange loop: a Redis server runs one script
// at a time.
//
// Lua numbers are doubles, exact below 2^53, but times take up to 2^60 ticks. So a time is held as
// high * 2^29 + low, two integers whose sums and differences are exact. `value` rounds such a sum
// once, so its sign is exact.

/** A time in ticks is its high part times HALF, plus its low part. */
export const HALF = 2 ** 29;
/** Every stored value starts with the version of its format. */
const FORMAT = 'zerotime1';
/** The start of the script's error for a value that is not a bucket. */
export const NO_BUCKET = 'ZEROTIMENOBUCKET';

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
local HALF = ${HALF}
local operation, mine, own, deadline, given = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- '%.17g' prints any number exactly, but takes ten times as long.
local function text(number)
  return string.format(number == math.floor(number) and '%d' or '%.17g', number)
end
local function value(high, low) return high * HALF + low end
local function round(number)
  local whole = math.floor(number)
  if number - whole >= 0.5 then whole = whole + 1 end
  return whole
end
-- Normalizes the low half to its range.
local function settle(high, low)
  local carry = math.floor(low / HALF)
  return high + carry, low - carry * HALF
end
local function split(ticks) return settle(0, ticks) end

-- The integer quotient of a * b / c, and whether there is a remainder, by long division in binary;
-- a = high * HALF + low is at least 0. Exact for b and c of at most 2^52.
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

-- If the server's clock is set back, time goes on from the latest instant that was stored.
local now = server + lag
local stepped = now < seen
if stepped then
  lag = seen - server
  now = seen
end

-- The current time in ticks since the origin, and the last fill at or before it.
local ticks, grid
local function look()
  ticks = round((now - origin) * bucket.perMicro)
  grid = ticks
  if bucket.fill ~= 0 then grid = math.floor(ticks / bucket.fill) * bucket.fill end
end
look()

-- Sets the zero-time to this far ahead of now.
local function place(aheadHigh, aheadLow)
  local gridHigh, gridLow = split(grid)
  high, low = settle(gridHigh + aheadHigh, gridLow + aheadLow)
end
-- How far the zero-time is ahead of now.
local function ahead()
  local gridHigh, gridLow = split(grid)
  return high - gridHigh, low - gridLow
end
-- Clamps to 2^59 ticks in both directions.
local function within(aheadHigh, aheadLow)
  aheadHigh, aheadLow = settle(aheadHigh, aheadLow)
  if aheadHigh >= 1073741824 then return 1073741824, 0 end
  if aheadHigh < -1073741824 then return -1073741824, 0 end
  return aheadHigh, aheadLow
end

-- Renews the origin before the time in ticks outgrows a double.
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

-- Ticks until the missing amount has flowed in; a quantum bucket gets it one fill at a time.
local function untilIn(missing)
  if bucket.fill == 0 or missing <= 0 then return missing end
  return math.ceil(missing / bucket.fill) * bucket.fill - (ticks - grid)
end

local isStored = not (stepped and stored)
local function store()
  isStored = true
  -- All but the origin are integers.
  local line = string.format('${FORMAT} %d %d %d %s %d %d %s %s',
    now, lag, generation, text(origin), high, low, kept, limit)
  if given ~= '' or kept == '1' then
    redis.call('SET', KEYS[1], line)
  else
    -- A full bucket needs no key: a missing one starts full.
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
  -- Only if it was the last write, in this generation of the bucket.
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
  -- Converts the balance to ticks of the next limit, rounded towards fewer tokens, also in debt.
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
  -- If the fill interval stays the same, fills keep their rhythm.
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

/** The name under which EVALSHA finds the script. */
export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');
