-- Reads the bucket into `limits`, which hold how far each zero-time is ahead of now, and defines how
-- it is stored.
local isOwn = string.sub(operation, 1, 4) == 'own '
if isOwn then operation = string.sub(operation, 5) end

-- Reads the numbers and the texts of a stored bucket, if the value is one.
local function read()
  local count = string.sub(stored, 1, COUNT_AT - 1) == FORMAT
    and tonumber(string.sub(stored, COUNT_AT, COUNT_AT))
  if not count or count < 1 or count > MAX_LIMITS then return end
  local size = FIELD_COUNT + LIMIT_FIELD_COUNT * count
  if #stored <= 8 * size then return end
  local numbers = {struct.unpack(string.sub(PACKED_MOST, 1, 1 + size), stored)}
  local sum, check = 0, 0
  for i = 1, size do sum = sum + numbers[i] end
  for at = FIELD_COUNT + 1, size, LIMIT_FIELD_COUNT do
    check = check + numbers[at + PER_TOKEN] + numbers[at + PER_MICRO] + numbers[at + CAP]
  end
  local texts = string.sub(stored, 8 * size + 1)
  -- With a wrong count, letters are read as numbers too small to change the sum.
  local _, semicolons = string.gsub(texts, ';', ';')
  -- NaN is no number that equals itself; infinities cancel to it.
  if sum - sum == 0 and check == numbers[CHECK] and semicolons == count - 1 then
    return numbers, texts
  end
end

local numbers, limitsText
if stored then
  numbers, limitsText = read()
  if not numbers then return redis.error_reply(NO_BUCKET .. ' the key holds something else') end
  if limitsText ~= mine then return {ANSWER_STALE, server, limitsText} end
elseif isOwn then
  limitsText = mine
else
  return {ANSWER_GONE, server}
end

-- Reads the texts of limits.
local function parse(limitsText)
  local limits = {}
  for one in string.gmatch(limitsText, '[^;]+') do
    local perToken, perMicro, capHigh, capLow, fill =
      string.match(one, '^(%S+) (%S+) (%S+) (%S+) (%S+) ')
    limits[#limits + 1] = {
      text = one, perToken = tonumber(perToken), perMicro = tonumber(perMicro),
      capHigh = tonumber(capHigh), capLow = tonumber(capLow), fill = tonumber(fill),
      -- With room for all that follows: to make room takes time.
      sinceFill = 0, gridHigh = 0, gridLow = 0, high = 0, low = 0, aheadHigh = 0, aheadLow = 0,
      cost = 0, costHigh = 0, costLow = 0, mostHigh = 0, mostLow = 0,
    }
  end
  return limits
end

local limits = parse(limitsText)
local lag, epoch, origin, expires, seen = 0, 0, server, 0, server
if numbers then
  lag, epoch, origin, expires, seen =
    numbers[LAG], numbers[EPOCH], numbers[ORIGIN], numbers[EXPIRES], numbers[SEEN]
end
local isKept = isTimed or expires == NEVER

-- If the server's clock is set back, time goes on from the latest instant that was stored.
local now = server + lag
local isMoved = now < seen
if isMoved then
  lag = seen - server
  now = seen
end

-- Reckons a limit's instant in ticks, its grid: now or, if tokens come in fills, the last fill.
-- Returns the ticks from the origin until now.
local function look(limit)
  local ticks = round((now - origin) * limit.perMicro)
  limit.sinceFill = limit.fill > 0 and math.fmod(ticks, limit.fill) or 0
  limit.gridHigh, limit.gridLow = split(ticks - limit.sinceFill)
  return ticks
end
-- Sets how far a zero-time is ahead. A full bucket gains nothing by idling longer.
local function place(limit, high, low)
  if value(high + limit.capHigh, low + limit.capLow) < 0 then
    high, low = -limit.capHigh, -limit.capLow
  end
  limit.aheadHigh, limit.aheadLow = settle(high, low)
end

local isAged = false
for i, limit in ipairs(limits) do
  isAged = look(limit) > RENEW_TICKS or isAged
  local high, low = -limit.capHigh, -limit.capLow
  if numbers then
    local at = FIELD_COUNT + LIMIT_FIELD_COUNT * (i - 1) + 1
    high, low = numbers[at + HIGH], numbers[at + LOW]
  end
  limit.high, limit.low = settle(high, low)
  place(limit, limit.high - limit.gridHigh, limit.low - limit.gridLow)
end

-- Counts ticks from now on or, so that fills keep their rhythm, from the last fill of a limit.
local function startAnew(rhythm)
  origin = rhythm and origin + value(rhythm.gridHigh, rhythm.gridLow) / rhythm.perMicro or now
  epoch = epoch + 1
  for _, limit in ipairs(limits) do
    look(limit)
    -- A longer debt is forgiven.
    if limit.aheadHigh >= 2 ^ 30 then limit.aheadHigh, limit.aheadLow = 2 ^ 30, 0 end
    limit.high, limit.low =
      settle(limit.gridHigh + limit.aheadHigh, limit.gridLow + limit.aheadLow)
  end
end
-- Before the time in ticks outgrows a double. A limit with fills is the only one of its bucket.
if isAged then startAnew(limits[1].fill > 0 and limits[1]) end

-- How many ticks ahead of the grid a limit may be for a wait of these ticks.
local function mostAhead(limit, ticks)
  local high, low = split(ticks)
  if limit.fill == 0 then return high, low end
  high, low = settle(high, low + limit.sinceFill)
  high, low = divide(high, low, 1, limit.fill)
  return divide(high, low, limit.fill, 1)
end
-- Ticks until the missing amount has flowed in; with fills, one fill at a time.
local function untilIn(limit, missing)
  if limit.fill == 0 or missing <= 0 then return missing end
  return math.ceil(missing / limit.fill) * limit.fill - limit.sinceFill
end

local function store()
  local fullUs, check, fields = 0, 0, {}
  for _, limit in ipairs(limits) do
    local low, high = limit.gridLow + limit.aheadLow, limit.gridHigh + limit.aheadHigh
    local ticks, cap = value(high, low), value(limit.capHigh, limit.capLow)
    if math.abs(ticks) <= ONE_NUMBER_TICKS then
      low, high = ticks, 0
    else
      high, low = settle(high, low)
    end
    if limit.fill > 0 or cap > SHORT_TICKS then cap = NO_SHORT_PATH end
    for _, field in ipairs({low, high, limit.perToken, limit.perMicro, cap}) do
      fields[#fields + 1] = field
    end
    check = check + limit.perToken + limit.perMicro + cap
    local missing = value(limit.aheadHigh + limit.capHigh, limit.aheadLow + limit.capLow)
    fullUs = math.max(fullUs, untilIn(limit, missing) / limit.perMicro)
  end
  -- A full bucket needs no key: a missing one starts full.
  local ms = isKept and 0 or math.ceil(fullUs / 1000) + 1
  local line = FORMAT .. #limits .. struct.pack('<dddddd', check, lag, epoch, origin,
      isKept and NEVER or server + ms * 1000, now)
    .. struct.pack(string.sub(PACKED_MOST, 1, 1 + #fields), unpack(fields)) .. limitsText
  if isKept then
    redis.call('SET', KEYS[1], line)
  else
    redis.call('SET', KEYS[1], line, 'PX', string.format('%d', ms))
  end
end
