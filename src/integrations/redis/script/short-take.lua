-- Takes under one limit on the short path, where every number is an integer that a double counts:
-- tokens flow in continuously, and neither the burst nor the debt is above SHORT_TICKS. Sums of
-- these and of a time of at most RENEW_TICKS stay below 2^53. Other values, and rare cases, take the
-- long path.
--
-- The number admitted of equal calls is the floor of a quotient of two integers below 2^53: rounding
-- it never reaches the next integer.
--
-- A key expires when its bucket is full. To move that instant costs as much as all the rest, so it is
-- moved twice as far as needed, and seldom.
local isOwn, isTake = operation == 'own try', operation == 'take'
if operation == 'own take' then isOwn, isTake = true, true end
local isTry = isOwn and not isTake or operation == 'try'
if isTake or isTry then
  local value, factor = stored, 2
  if not stored and isOwn then
    local perToken, perMicro, high, low =
      string.match(mine, '^(%S+) (%S+) (%S+) (%S+) 0 %S+ [^%s;]+$')
    local cap = high and high * HALF + low
    if cap and cap <= SHORT_TICKS then
      value = struct.pack(PACKED_ONE, FORMAT_ONE, perToken + perMicro + cap, 0, 0, server,
        isTimed and NEVER or 0, server, -cap, 0, perToken, perMicro, cap) .. mine
      factor = 1
    end
  end
  local isShort = value and #value == TEXT_OF_ONE - 1 + #mine
    and string.find(value, mine, TEXT_OF_ONE, true)
  local format, check, lag, epoch, origin, expires, seen, z, high, perToken, perMicro, cap
  if isShort then
    format, check, lag, epoch, origin, expires, seen, z, high, perToken, perMicro, cap =
      struct.unpack(PACKED_ONE, value)
    isShort = format == FORMAT_ONE and perToken + perMicro + cap == check
      and high == 0 and cap >= 0
  end
  local now = isShort and server + lag
  if isShort and now >= seen then
    local ticks = (now - origin) * perMicro + 0.5
    ticks = ticks - ticks % 1
    local ahead = z - ticks
    -- No comparison holds for NaN.
    isShort = ticks <= RENEW_TICKS and ahead <= SHORT_TICKS
    if ahead < -cap then ahead = -cap end
    local before = ahead
    -- Of several rows, made with room for one: to make room takes time.
    local answer, place, admitted
    if ARGV[6] or lag ~= 0 then
      answer, place = {ANSWER_DONE, server, 0}, 2
      if isTake then answer, place = {ANSWER_DONE, server, now, origin, z, epoch, 0}, 6 end
    end
    local row = 4
    repeat
      -- To read a word takes time, so the usual ones are empty or left out.
      local tokens, waitUs, calls = ARGV[row], ARGV[row + 1], ARGV[row + 2]
      local cost, most = perToken, 0
      if tokens and tokens ~= '' then
        cost = tokens * perToken
        if cost % 1 ~= 0 then cost = cost - cost % 1 + 1 end
      end
      if waitUs and waitUs ~= '' then
        most = waitUs * perMicro + 0.5
        most = math.min(most - most % 1, MAX_SPAN_TICKS)
      end
      calls = calls and calls + 0 or 1
      -- Rounding makes NaN of infinity.
      if not (cost <= cap) then
        calls = MORE_THAN_BURST
      elseif cost > 0 then
        local sum = cost * calls
        -- All that follows is exact, or is not used.
        isShort = isShort and sum <= SHORT_TICKS
        if ahead + sum > most then
          calls = (most - ahead) / cost
          calls = calls < 0 and 0 or calls - calls % 1
          sum = cost * calls
        end
        ahead = ahead + sum
        isShort = isShort and ahead <= SHORT_TICKS
      end
      if answer then
        place = place + 1
        answer[place] = calls
      else
        admitted = calls
      end
      row = row + 3
    until not ARGV[row]
    if isShort then
      if ahead ~= before then
        local fullUs = (ahead + cap) / perMicro
        if stored and server + fullUs < expires then
          redis.call('SETRANGE', KEYS[1], SEEN_OFFSET, struct.pack('<dd', now, ticks + ahead))
        else
          local ms = math.ceil(factor * fullUs / 1000) + 1
          local line = string.sub(value, 1, EXPIRES_OFFSET)
            .. struct.pack('<ddd', expires == NEVER and NEVER or server + ms * 1000, now, ticks + ahead)
            .. string.sub(value, HIGH_OF_ONE)
          if expires == NEVER then
            redis.call('SET', KEYS[1], line)
          else
            redis.call('SET', KEYS[1], line, 'PX', string.format('%d', ms))
          end
        end
      end
      if answer then return answer end
      if admitted == MORE_THAN_BURST then
        return isTake and {ANSWER_DONE, server, now, origin, z, epoch, admitted}
          or {ANSWER_DONE, server, admitted}
      end
      local signed = admitted == 1 and server or -server
      return isTake and {signed, origin, z, epoch} or signed
    end
  end
end
