import { SAME_INTERVAL } from '../../../kernel/constants.ts';
import { MORE_THAN_BURST } from './format.ts';

/** Performs the operation. */
export const OPERATIONS = `local results = {}
local function amount(word)
  return halves((not word or word == '') and bucket.perToken or word)
end
local amountHigh, amountLow = amount(ARGV[4])
local readHigh, readLow = high, low
local function takeOne(mostAhead)
  local dueHigh, dueLow = aheadHigh + amountHigh, aheadLow + amountLow
  if untilIn(value(dueHigh, dueLow)) > mostAhead then return false end
  aheadHigh, aheadLow = settle(dueHigh, dueLow)
  return true
end
operation = isOwn and string.sub(operation, 5) or operation
if operation == 'try' or operation == 'take' then
  local taken = false
  for i = 4, math.max(4, #ARGV), 3 do
    local most, count = tonumber(ARGV[i + 1] or 0) or 0, tonumber(ARGV[i + 2] or 1)
    amountHigh, amountLow = amount(ARGV[i])
    local admitted = 0
    if amountHigh == 0 and amountLow == 0 then
      admitted = count
    elseif value(amountHigh - bucket.capHigh, amountLow - bucket.capLow) > 0 then
      admitted = ${MORE_THAN_BURST}
    else
      while admitted < count and takeOne(most) do admitted = admitted + 1 end
      taken = taken or admitted > 0
    end
    results[#results + 1] = admitted
  end
  if taken then move(aheadHigh, aheadLow) end
elseif operation == 'drain' then
  local most = tonumber(ARGV[5])
  local gone, taken = 0, 0
  if value(aheadHigh + amountHigh, aheadLow + amountLow) <= 0 then
    gone = most
    taken = most
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
  -- As text, since a number in an answer is cut to 64 bits.
  results[1] = string.format('%.17g', taken)
elseif operation == 'return' then
  local toHigh, toLow = aheadHigh - amountHigh, aheadLow - amountLow
  if value(toHigh + bucket.capHigh, toLow + bucket.capLow) < 0 then
    toHigh, toLow = -bucket.capHigh, -bucket.capLow
  end
  if stored then move(toHigh, toLow) end
elseif operation == 'cancel' then
  -- Only if it was the last write, in this generation of the bucket. A bucket that is not stored is
  -- full: a reservation of nothing is the last one.
  local wroteHigh, wroteLow = halves(ARGV[7])
  local isLatest = high == wroteHigh and low == wroteLow
    and origin == tonumber(ARGV[5]) and generation == tonumber(ARGV[6])
  if not stored then isLatest = amountHigh == 0 and amountLow == 0 end
  results[1] = isLatest and 1 or 0
  if isLatest and stored then
    high, low = settle(high - amountHigh, low - amountLow)
    aheadHigh, aheadLow = ahead()
    store()
  end
elseif operation == 'change' then
  local old, nextLimit = bucket, readLimit(ARGV[5])
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
  bucket, limit, kept = nextLimit, ARGV[5], tonumber(ARGV[6])
  generation = generation + 1
  look()
  move(within(aheadHigh, aheadLow))
end
`;
