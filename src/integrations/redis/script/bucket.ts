import { RENEW_TICKS } from '../../../kernel/constants.ts';

/** Every stored value starts with the version of its format. */
const FORMAT = 'zerotime1';
/** The start of the script's error for a value that is not a bucket. */
export const NO_BUCKET = 'ZEROTIMENOBUCKET';

/** Reads the bucket and the time, and defines how the bucket is moved and stored. */
export const BUCKET = `local function readLimit(limit)
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
  seen, lag, generation = tonumber(a), tonumber(b), tonumber(c)
  origin, high, low = tonumber(d), tonumber(e), tonumber(f)
  if not (seen and lag and generation and origin and high and low and theirs) then
    return redis.error_reply('${NO_BUCKET} the key holds something else')
  end
  if theirs ~= mine then return {'stale', server, theirs} end
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
`;
