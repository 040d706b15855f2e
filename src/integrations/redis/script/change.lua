-- Changes all limits at once. Each gets what is promised back, and then gives it again.

-- a * b / c, rounded down, also below 0.
local function scaled(high, low, b, c)
  if value(high, low) >= 0 then
    high, low = settle(high, low)
    return divide(high, low, b, c)
  end
  high, low = settle(-high, -low)
  local more
  high, low, more = divide(high, low, b, c)
  return -high, -low - (more and 1 or 0)
end

-- Whether fills come as often under the next limit.
local function keepsRhythm(limit, nextLimit)
  local interval, nextInterval = limit.fill / limit.perMicro, nextLimit.fill / nextLimit.perMicro
  return nextInterval > 0 and math.abs(nextInterval - interval) <= interval * SAME_INTERVAL
end

-- The most tokens that are promised but not due, as ticks of the limit that delays them.
local dueHigh, dueLow, duePerToken, most = 0, 0, 1, 0
for _, limit in ipairs(limits) do
  local debt = value(limit.aheadHigh, limit.aheadLow)
  if limit.perToken > 0 and debt / limit.perToken > most then
    most = debt / limit.perToken
    dueHigh, dueLow, duePerToken = limit.aheadHigh, limit.aheadLow, limit.perToken
  end
end
local function promised(perToken)
  local high, low = scaled(-dueHigh, -dueLow, perToken, duePerToken)
  return -high, -low
end
-- Each limit keeps its tokens as if those were not taken, up to its burst; then they are taken.
local before, after = limits, parse(ARGV[4])
for i, limit in ipairs(before) do
  local nextLimit = after[i]
  local high, low = promised(limit.perToken)
  local aheadHigh, aheadLow = limit.aheadHigh, limit.aheadLow
  if nextLimit.text == limit.text then
    if value(aheadHigh + limit.capHigh - high, aheadLow + limit.capLow - low) < 0 then
      aheadHigh, aheadLow = high - limit.capHigh, low - limit.capLow
    end
  else
    local keptHigh, keptLow = nextLimit.capHigh, nextLimit.capLow
    if limit.perToken > 0 then
      high, low = least(high - aheadHigh, low - aheadLow, limit.capHigh, limit.capLow)
      high, low = scaled(high, low, nextLimit.perToken, limit.perToken)
      keptHigh, keptLow = least(high, low, keptHigh, keptLow)
    end
    local nextHigh, nextLow = promised(nextLimit.perToken)
    aheadHigh, aheadLow = settle(nextHigh - keptHigh, nextLow - keptLow)
  end
  nextLimit.aheadHigh, nextLimit.aheadLow = aheadHigh, aheadLow
end
limits, limitsText = after, ARGV[4]
startAnew(keepsRhythm(before[1], after[1]) and before[1])
isMoved = true
