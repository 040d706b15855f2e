-- Costs, and calls that take them.

-- What tokens cost under each limit, rounded by the function.
local function reckon(tokens, whole)
  for _, limit in ipairs(limits) do
    local product = limit.perToken > 0 and tokens * limit.perToken or 0
    if product <= MAX_SAFE_INTEGER then
      limit.cost = whole(product)
      limit.costHigh, limit.costLow = split(limit.cost)
    elseif product >= 2 * MAX_SPAN_TICKS then
      limit.cost, limit.costHigh, limit.costLow = 2 * MAX_SPAN_TICKS, 2 ^ 31, 0
    else
      local tokensHigh, tokensLow = split(math.floor(tokens))
      local high, low = divide(tokensHigh, tokensLow, limit.perToken, 1)
      low = low + whole((tokens - math.floor(tokens)) * limit.perToken)
      limit.costHigh, limit.costLow = settle(high, low)
      limit.cost = value(high, low)
    end
  end
end

-- Allows every limit to be as far ahead as for a wait of these microseconds.
local function allow(waitUs)
  for _, limit in ipairs(limits) do
    limit.mostHigh, limit.mostLow =
      mostAhead(limit, math.min(round(waitUs * limit.perMicro), MAX_SPAN_TICKS))
  end
end
-- Whether the cost fits under every limit that has one.
local function fits()
  for _, limit in ipairs(limits) do
    if limit.cost > 0 and value(limit.aheadHigh + limit.costHigh - limit.mostHigh,
      limit.aheadLow + limit.costLow - limit.mostLow) > 0 then return false end
  end
  return true
end
-- Takes the cost from every limit, or returns it if the sign is -1.
local function take(sign)
  for _, limit in ipairs(limits) do
    limit.aheadHigh, limit.aheadLow = settle(
      limit.aheadHigh + sign * limit.costHigh, limit.aheadLow + sign * limit.costLow)
    isMoved = isMoved or limit.cost > 0
  end
end

-- Takes the cost of a call. Every limit fills up to the granted instant, at which the last one has its
-- tokens, not to now: so each is a plain bucket at those instants, whatever the others do.
local function grant()
  take(1)
  local last, longestUs = nil, 0
  for _, limit in ipairs(limits) do
    local us = limit.perToken > 0 and value(limit.aheadHigh, limit.aheadLow) / limit.perMicro or 0
    if us > longestUs then last, longestUs = limit, us end
  end
  if not last or #limits == 1 then return end
  local dueHigh, dueLow = last.aheadHigh, last.aheadLow
  for _, limit in ipairs(limits) do
    local high, low = dueHigh, dueLow
    if limit.perMicro ~= last.perMicro then
      high, low = split(math.ceil(value(high, low) * limit.perMicro / last.perMicro))
    end
    high, low = high - limit.capHigh + limit.costHigh, low - limit.capLow + limit.costLow
    if limit.perToken > 0 and value(high - limit.aheadHigh, low - limit.aheadLow) > 0 then
      limit.aheadHigh, limit.aheadLow = settle(high, low)
    end
  end
end

-- Admits equal calls one after the other, and returns how many. Sums of whole numbers up to 2^52
-- and of halves are exact, and so is the floor of their quotient; larger ones go call by call, and
-- so do promises under several limits.
local function takeCalls(tokens, waitUs, calls)
  reckon(tokens, math.ceil)
  allow(waitUs)
  local admitted, isFree, isOneByOne = calls, true, #limits > 1 and waitUs > 0
  for _, limit in ipairs(limits) do
    if value(limit.costHigh - limit.capHigh, limit.costLow - limit.capLow) > 0 then
      return MORE_THAN_BURST
    end
    if limit.cost > 0 then
      isFree = false
      local room = value(limit.mostHigh - limit.aheadHigh, limit.mostLow - limit.aheadLow)
      if room < 2 ^ 52 then
        admitted = math.max(0, math.min(admitted, math.floor(room / limit.cost)))
      elseif limit.cost * calls > 2 ^ 52 then
        isOneByOne = true
      end
    end
  end
  if isFree then return calls end
  if isOneByOne then
    admitted = 0
    while admitted < calls and fits() do
      grant()
      admitted = admitted + 1
    end
  elseif admitted > 0 then
    for _, limit in ipairs(limits) do
      limit.aheadHigh, limit.aheadLow =
        settle(limit.aheadHigh, limit.aheadLow + admitted * limit.cost)
    end
    isMoved = true
  end
  return admitted
end

-- Takes the whole tokens that every limit has.
local function drain(most)
  local taken = most
  allow(0)
  for _, limit in ipairs(limits) do
    if limit.perToken > 0 then
      local held = value(-limit.aheadHigh, -limit.aheadLow)
      local whole = math.max(0, math.floor(held / limit.perToken))
      if held >= 2 ^ 52 then
        local high, low = settle(-limit.aheadHigh, -limit.aheadLow)
        high, low = divide(high, low, 1, limit.perToken)
        whole = value(high, low)
      end
      taken = math.min(taken, whole)
    end
  end
  reckon(taken, math.ceil)
  -- A number above 2^53 may have been rounded up.
  while not fits() do
    taken = math.floor(taken * LESS_THAN_ONE)
    reckon(taken, math.ceil)
  end
  if taken > 0 then take(1) end
  return taken
end
