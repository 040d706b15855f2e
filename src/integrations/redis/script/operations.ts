import { SAME_INTERVAL } from '../../../kernel/constants.ts';

/** Performs the operation. */
export const OPERATIONS = `local result, taken = 'ok', 0
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
`;
