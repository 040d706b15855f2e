-- Lua numbers are doubles, exact below 2^53, but times take up to 2^60 ticks. So a time is held as
-- high * HALF + low, two integers whose sums and differences are exact. `value` rounds such a sum
-- once, so its sign is exact.

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
-- Reads ticks: a number or two halves.
local function halves(word)
  local number = tonumber(word)
  if number then return split(number) end
  local high, low = string.match(word, '^(-?%d+):(%d+)$')
  return tonumber(high), tonumber(low)
end
-- Prints ticks for the answer: a number where a double counts them, otherwise two settled halves.
local function inAnswer(high, low)
  local ticks = value(high, low)
  return math.abs(ticks) > 2 ^ 52 and string.format('%d:%d', high, low) or ticks
end
local function least(aHigh, aLow, bHigh, bLow)
  if value(aHigh - bHigh, aLow - bLow) < 0 then return aHigh, aLow end
  return bHigh, bLow
end

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
