import { RENEW_TICKS } from '../../../kernel/constants.ts';
import {
  ANSWER,
  FORMATS,
  NEVER_EXPIRES,
  NO_BUCKET,
  OLD_FORMAT,
  PACKED,
  SHORT_TICKS,
  TEXT_AT,
} from './format.ts';

/** Reads the time and the stored value. */
export const STORED = `local server = ARGV[3] + 0
local isTimed = server < 0
if isTimed then
  server = -server
else
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  if now > server then return {${ANSWER.late}, now} end
  server = now
end
local stored = redis.call('GET', KEYS[1])
`;

/** Reads the bucket, and defines how it is moved and stored. */
export const BUCKET = `local function readLimit(limit)
  local perToken, perMicro, capHigh, capLow, fill =
    string.match(limit, '^(%S+) (%S+) (%S+) (%S+) (%S+) ')
  return {
    perToken = tonumber(perToken), perMicro = tonumber(perMicro), fill = tonumber(fill),
    capHigh = tonumber(capHigh), capLow = tonumber(capLow),
  }
end

local isOwn = string.sub(operation, 1, 4) == 'own '
local limit = mine
local seen, lag, generation, origin, kept = server, 0, 0, server, 0
local high, low
if stored then
  if severalText then return {${ANSWER.stale}, server, severalText} end
  local theirs
  if string.sub(stored, 1, ${OLD_FORMAT.length}) == '${OLD_FORMAT}' then
    local a, b, c, d, e, f, g, text = string.match(stored,
      '^${OLD_FORMAT} (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.+)$')
    seen, lag, generation, kept = tonumber(a), tonumber(b), tonumber(c), tonumber(g)
    origin, high, low, theirs = tonumber(d), tonumber(e), tonumber(f), text
  elseif #stored >= ${TEXT_AT} then
    local format, perToken, perMicro, cap, check, _
    seen, low, format, _, lag, generation, origin, perToken, perMicro, cap, check, high, kept =
      struct.unpack('${PACKED}', stored)
    theirs = (format == ${FORMATS.short} or format == ${FORMATS.long})
      and perToken + perMicro + cap == check
      and string.sub(stored, ${TEXT_AT})
  end
  -- NaN is no number that equals itself; infinities cancel to it.
  local sum = theirs and seen and lag and generation and kept and origin and high and low
    and seen + lag + generation + kept + origin + high + low
  if not sum or sum - sum ~= 0 then
    return redis.error_reply('${NO_BUCKET} the key holds something else')
  end
  if theirs ~= mine then return {${ANSWER.stale}, server, theirs} end
  high, low = settle(high, low)
elseif not isOwn then
  return {${ANSWER.gone}, server}
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
  local isForGood = isTimed or kept == 1
  -- A full bucket needs no key: a missing one starts full.
  -- At least 0, also if a call is cancelled when the bucket has filled up.
  local full = math.max(0, untilIn(value(aheadHigh + bucket.capHigh, aheadLow + bucket.capLow)))
  local ms = isForGood and 0 or math.ceil(full / bucket.perMicro / 1000) + 1
  local expires = isForGood and ${NEVER_EXPIRES} or server + ms * 1000
  local cap, storedHigh, storedLow = value(bucket.capHigh, bucket.capLow), 0, value(high, low)
  local format = ${FORMATS.short}
  if bucket.fill ~= 0 or cap > ${SHORT_TICKS} or origin % 1 ~= 0
    or math.abs(storedLow) > ${2 ** 52 + 2 ** 51} then
    format, storedHigh, storedLow = ${FORMATS.long}, high, low
  end
  local line = struct.pack('${PACKED}', now, storedLow, format, expires, lag, generation, origin,
    bucket.perToken, bucket.perMicro, cap, bucket.perToken + bucket.perMicro + cap,
    storedHigh, kept) .. limit
  if isForGood then
    redis.call('SET', KEYS[1], line)
  else
    redis.call('SET', KEYS[1], line, 'PX', string.format('%d', ms))
  end
end
local function move(toHigh, toLow)
  aheadHigh, aheadLow = toHigh, toLow
  place(aheadHigh, aheadLow)
  store()
end
`;
