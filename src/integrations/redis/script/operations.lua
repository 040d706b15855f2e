-- Performs the operation.
local answer = {ANSWER_DONE, server}
if operation ~= 'try' then
  answer[3], answer[4] = now, text(origin)
  for i, limit in ipairs(limits) do answer[4 + i] = inAnswer(limit.high, limit.low) end
  answer[#answer + 1] = epoch
end
if operation == 'try' or operation == 'take' then
  for row = 4, math.max(4, #ARGV), 3 do
    local tokens, waitUs, calls = ARGV[row] or '', ARGV[row + 1] or '', ARGV[row + 2] or 1
    answer[#answer + 1] = takeCalls(
      tokens == '' and 1 or tonumber(tokens), waitUs == '' and 0 or tonumber(waitUs), calls + 0)
  end
elseif operation == 'drain' then
  -- As text, since a number in an answer is cut to 64 bits.
  answer[#answer + 1] = string.format('%.17g', drain(tonumber(ARGV[4])))
elseif operation == 'return' and numbers then
  reckon(tonumber(ARGV[4]), math.floor)
  take(-1)
  for _, limit in ipairs(limits) do place(limit, limit.aheadHigh, limit.aheadLow) end
elseif operation == 'cancel' then
  -- Only if it was the last write, in this epoch of the bucket. A bucket that is not stored is
  -- full: a reservation of nothing is the last one.
  local isLatest = not numbers
    or origin == tonumber(ARGV[4]) and epoch == tonumber(ARGV[5])
  for i, limit in ipairs(limits) do
    local left, found = ARGV[4 + 2 * i], ARGV[5 + 2 * i]
    if not numbers then
      isLatest = isLatest and left == found
    elseif isLatest then
      local high, low = halves(left)
      isLatest = limit.high == high and limit.low == low
      high, low = halves(found)
      place(limit, high - limit.gridHigh, low - limit.gridLow)
      isMoved = isMoved or left ~= found
    end
  end
  answer[#answer + 1] = isLatest and 1 or 0
  if not isLatest then return answer end
elseif operation == 'change' then
  isKept = isTimed or ARGV[5] == '1'
  INCLUDE 'change.lua'
end
if isMoved then store() end
return answer
