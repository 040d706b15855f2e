import { MAX_SPAN_TICKS } from '../../../kernel/constants.ts';
import { ANSWER, MORE_THAN_BURST } from './format.ts';

/** Costs, and calls that take them, under several limits. */
const TAKES = `-- What tokens cost under each limit, rounded by the function.
local function reckon(tokens, whole)
  for _, limit in ipairs(limits) do
    local product = tokens * limit.perToken
    if product <= ${Number.MAX_SAFE_INTEGER} then
      limit.cost = whole(product)
      limit.costHigh, limit.costLow = split(limit.cost)
    elseif product >= ${2 * MAX_SPAN_TICKS} then
      limit.cost, limit.costHigh, limit.costLow = ${2 * MAX_SPAN_TICKS}, ${2 ** 31}, 0
    else
      local tokensHigh, tokensLow = split(math.floor(tokens))
      local high, low = divide(tokensHigh, tokensLow, limit.perToken, 1)
      low = low + whole((tokens - math.floor(tokens)) * limit.perToken)
      limit.costHigh, limit.costLow = settle(high, low)
      limit.cost = value(high, low)
    end
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
  end
end

-- Admits equal calls one after the other, and returns how many. Sums of whole numbers up to 2^52
-- and of halves are exact, and so is the floor of their quotient; larger ones go call by call.
local function takeCalls(tokens, waitUs, calls)
  reckon(tokens, math.ceil)
  local admitted, isFree, isLarge = calls, true, false
  for _, limit in ipairs(limits) do
    if value(limit.costHigh - limit.capHigh, limit.costLow - limit.capLow) > 0 then
      return ${MORE_THAN_BURST}
    end
    if limit.cost > 0 then
      isFree = false
      local most = math.min(round(waitUs * limit.perMicro), ${MAX_SPAN_TICKS})
      limit.mostHigh, limit.mostLow = split(most)
      local room = value(limit.mostHigh - limit.aheadHigh, limit.mostLow - limit.aheadLow)
      if room < ${2 ** 52} then
        admitted = math.max(0, math.min(admitted, math.floor(room / limit.cost)))
      elseif limit.cost * calls > ${2 ** 52} then
        isLarge = true
      end
    end
  end
  if isFree then return calls end
  if isLarge then
    admitted = 0
    while admitted < calls and fits() do
      take(1)
      admitted = admitted + 1
    end
  elseif admitted > 0 then
    for _, limit in ipairs(limits) do
      limit.aheadHigh, limit.aheadLow =
        settle(limit.aheadHigh, limit.aheadLow + admitted * limit.cost)
    end
  end
  isMoved = isMoved or admitted > 0
  return admitted
end

-- Takes the whole tokens that every limit has.
local function drain(most)
  local taken = most
  for _, limit in ipairs(limits) do
    limit.mostHigh, limit.mostLow = 0, 0
    if limit.perToken > 0 then
      local held = value(-limit.aheadHigh, -limit.aheadLow)
      local whole = math.max(0, math.floor(held / limit.perToken))
      if held >= ${2 ** 52} then
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
    taken = math.floor(taken * ${1 - 2 ** -52})
    reckon(taken, math.ceil)
  end
  if taken > 0 then
    take(1)
    isMoved = true
  end
  return taken
end
`;

/** Changes all limits at once. Each gets what is promised back, and then gives it again. */
const CHANGE = `-- a * b / c, rounded down, also below 0.
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
local function least(aHigh, aLow, bHigh, bLow)
  if value(aHigh - bHigh, aLow - bLow) < 0 then return aHigh, aLow end
  return bHigh, bLow
end

local function change(nextText)
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
  local before, after = parse(limitsText), parse(nextText)
  for i, limit in ipairs(limits) do
    local nextLimit = after[i]
    local high, low = promised(limit.perToken)
    local aheadHigh, aheadLow = limit.aheadHigh, limit.aheadLow
    if nextLimit.text == before[i].text then
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
      -- A longer debt is forgiven.
      if aheadHigh >= ${2 ** 30} then aheadHigh, aheadLow = ${2 ** 30}, 0 end
    end
    nextLimit.aheadHigh, nextLimit.aheadLow = aheadHigh, aheadLow
  end
  limits, limitsText = after, nextText
  startAnew()
  isMoved = true
end
`;

/** Performs the operation on all limits. */
export const SEVERAL_OPERATIONS = `${TAKES}${CHANGE}
local answer = {${ANSWER.done}, server}
if operation ~= 'try' then
  answer[3], answer[4] = now, origin
  for i, limit in ipairs(limits) do answer[4 + i] = inAnswer(limit.high, limit.low) end
  answer[#answer + 1] = generation
end
if operation == 'try' or operation == 'take' then
  for i = 4, math.max(4, #ARGV), 3 do
    local tokens, waitUs, calls = ARGV[i] or '', ARGV[i + 1] or '', ARGV[i + 2] or 1
    answer[#answer + 1] = takeCalls(
      tokens == '' and 1 or tonumber(tokens), waitUs == '' and 0 or tonumber(waitUs), calls + 0)
  end
elseif operation == 'drain' then
  -- As text, since a number in an answer is cut to 64 bits.
  answer[#answer + 1] = string.format('%.17g', drain(tonumber(ARGV[5])))
elseif operation == 'return' then
  reckon(tonumber(ARGV[4]), math.floor)
  take(-1)
  for _, limit in ipairs(limits) do
    if value(limit.aheadHigh + limit.capHigh, limit.aheadLow + limit.capLow) < 0 then
      limit.aheadHigh, limit.aheadLow = -limit.capHigh, -limit.capLow
    end
  end
  isMoved = isMoved or numbers ~= nil
elseif operation == 'cancel' then
  reckon(tonumber(ARGV[4]), math.ceil)
  -- Only if it was the last write, in this generation of the bucket. A bucket that is not stored is
  -- full: a reservation of nothing is the last one.
  local isLatest = not numbers
    or origin == tonumber(ARGV[5]) and generation == tonumber(ARGV[6])
  for i, limit in ipairs(limits) do
    if not numbers then
      isLatest = isLatest and limit.cost == 0
    elseif isLatest then
      local high, low = halves(ARGV[6 + i])
      isLatest = limit.high == high and limit.low == low
    end
  end
  answer[#answer + 1] = isLatest and 1 or 0
  if isLatest and numbers then
    for _, limit in ipairs(limits) do
      limit.aheadHigh, limit.aheadLow = limit.high - limit.gridHigh, limit.low - limit.gridLow
    end
    take(-1)
    isMoved = true
  end
elseif operation == 'change' then
  kept = tonumber(ARGV[6])
  change(ARGV[5])
end
if isMoved then store() end
return answer
`;
