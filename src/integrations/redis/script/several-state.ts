import { RENEW_TICKS } from '../../../kernel/constants.ts';
import { MAX_LIMITS } from '../../../memory/layout.ts';
import {
  ANSWER,
  FORMATS,
  LIMIT_NUMBERS,
  LIMIT_STATE,
  NEVER_EXPIRES,
  SEVERAL_BYTES,
  SEVERAL_FIELDS,
  SEVERAL_SIZE,
  SHORT_TICKS,
  severalField,
} from './format.ts';

const HEAD = SEVERAL_FIELDS.length;
const STATE = LIMIT_STATE.length;
const NUMBERS = LIMIT_NUMBERS.length;
/** Reads a stored bucket with several limits, if the value is one. */
export const SEVERAL_STORED = `local function readSeveral()
  if not stored or #stored < ${SEVERAL_BYTES.least} then return end
  local format = struct.unpack('<d', stored, ${SEVERAL_BYTES.format})
  local count = struct.unpack('<d', stored, ${SEVERAL_BYTES.count})
  if format ~= ${FORMATS.several} or not (count >= 2 and count <= ${MAX_LIMITS} and count % 1 == 0)
    or #stored <= 8 * ${SEVERAL_SIZE} then return end
  local numbers = {struct.unpack('<' .. string.rep('d', ${SEVERAL_SIZE}), stored)}
  local sum, check = 0, 0
  for i = 1, ${SEVERAL_SIZE} do sum = sum + numbers[i] end
  for i = ${HEAD + 1} + ${STATE} * count, ${SEVERAL_SIZE} do check = check + numbers[i] end
  -- NaN is no number that equals itself; infinities cancel to it.
  if sum - sum ~= 0 or check ~= numbers[${severalField('check')}] then return end
  return string.sub(stored, 8 * ${SEVERAL_SIZE} + 1), numbers
end
local severalText, numbers = readSeveral()
`;

/** The state under every limit, and how it is stored. */
export const SEVERAL_STATE = `operation = string.sub(operation, 5)
local isOwn = string.sub(operation, 1, 4) == 'own '
if isOwn then operation = string.sub(operation, 5) end
if numbers and severalText ~= mine then return {${ANSWER.stale}, server, severalText} end
if not numbers and not isOwn then return {${ANSWER.gone}, server} end

-- Reads the texts of limits.
local function parse(text)
  local limits = {}
  for one in string.gmatch(text, '[^;]+') do
    local perToken, perMicro, capHigh, capLow = string.match(one, '^(%S+) (%S+) (%S+) (%S+) ')
    limits[#limits + 1] = {
      text = one, perToken = tonumber(perToken), perMicro = tonumber(perMicro),
      capHigh = tonumber(capHigh), capLow = tonumber(capLow), gridHigh = 0, gridLow = 0,
    }
  end
  return limits
end

local limitsText = mine
local seen, lag, generation, origin, kept, expires = server, 0, 0, server, 0, 0
local limits
if numbers then
  lag, generation, expires = numbers[1], numbers[2], numbers[4]
  origin, kept, seen = numbers[5], numbers[6], numbers[${HEAD}]
  limits = {}
  local count = numbers[8]
  for i = 1, count do
    local state = ${HEAD - STATE} + ${STATE} * i
    local at = ${HEAD - NUMBERS} + ${STATE} * count + ${NUMBERS} * i
    local high, low = settle(numbers[state + 1], numbers[state + 2])
    local capHigh, capLow = settle(numbers[at + 3], numbers[at + 4])
    limits[i] = {
      high = high, low = low, perToken = numbers[at + 1], perMicro = numbers[at + 2],
      capHigh = capHigh, capLow = capLow, gridHigh = 0, gridLow = 0,
      aheadHigh = 0, aheadLow = 0, cost = 0, costHigh = 0, costLow = 0, mostHigh = 0, mostLow = 0,
    }
  end
else
  limits = parse(mine)
  for _, limit in ipairs(limits) do
    limit.high, limit.low = settle(-limit.capHigh, -limit.capLow)
  end
end

-- Whether there is anything to store, and not only in the place of the states.
local isMoved, isWhole = false, not numbers
-- If the server's clock is set back, time goes on from the latest instant that was stored.
local now = server + lag
if now < seen then
  lag = seen - server
  now = seen
  isMoved, isWhole = true, true
end

-- How far each zero-time is ahead of now; a full bucket gains nothing by idling longer.
local isAged = false
for _, limit in ipairs(limits) do
  local ticks = round((now - origin) * limit.perMicro)
  isAged = isAged or ticks > ${RENEW_TICKS}
  limit.gridHigh, limit.gridLow = split(ticks)
  local aheadHigh, aheadLow = limit.high - limit.gridHigh, limit.low - limit.gridLow
  if value(aheadHigh + limit.capHigh, aheadLow + limit.capLow) < 0 then
    aheadHigh, aheadLow = -limit.capHigh, -limit.capLow
  end
  limit.aheadHigh, limit.aheadLow = aheadHigh, aheadLow
end

-- Counts ticks from now on.
local function startAnew()
  origin = now
  generation = generation + 1
  isWhole = true
  for _, limit in ipairs(limits) do
    limit.gridHigh, limit.gridLow = 0, 0
    limit.high, limit.low = settle(limit.aheadHigh, limit.aheadLow)
  end
end
-- Before the time in ticks outgrows a double.
if isAged then startAnew() end

-- The short way works without high halves.
local function compact(high, low, most)
  local ticks = value(high, low)
  if math.abs(ticks) <= most then return 0, ticks end
  return high, low
end
local function store()
  local fullUs, states = 0, {now}
  for i, limit in ipairs(limits) do
    local aheadHigh, aheadLow = limit.aheadHigh, limit.aheadLow
    local high, low = settle(limit.gridHigh + aheadHigh, limit.gridLow + aheadLow)
    states[2 * i], states[2 * i + 1] = compact(high, low, ${2 ** 52 + 2 ** 51})
    local missing = value(aheadHigh + limit.capHigh, aheadLow + limit.capLow)
    fullUs = math.max(fullUs, missing / limit.perMicro)
  end
  local moved = struct.pack('<' .. string.rep('d', #states), unpack(states))
  if not isWhole and server + fullUs < expires then
    redis.call('SETRANGE', KEYS[1], '${SEVERAL_BYTES.fixed}', moved)
    return
  end
  -- As on the short way of one limit: a key stays twice as long as it must.
  local ms = math.ceil((numbers and 2 or 1) * fullUs / 1000) + 1
  local isForGood = isTimed or kept == 1
  local fixed, check = {}, 0
  for i, limit in ipairs(limits) do
    local at = ${NUMBERS} * (i - 1)
    fixed[at + 1], fixed[at + 2] = limit.perToken, limit.perMicro
    fixed[at + 3], fixed[at + 4] = compact(limit.capHigh, limit.capLow, ${SHORT_TICKS})
  end
  for _, number in ipairs(fixed) do check = check + number end
  local line = struct.pack('<${'d'.repeat(HEAD - 1)}', lag, generation, ${FORMATS.several},
    isForGood and ${NEVER_EXPIRES} or server + ms * 1000, origin, kept, check, #limits)
    .. moved .. struct.pack('<' .. string.rep('d', #fixed), unpack(fixed)) .. limitsText
  if isForGood then
    redis.call('SET', KEYS[1], line)
  else
    redis.call('SET', KEYS[1], line, 'PX', string.format('%d', ms))
  end
end
`;
