-- Takes under several limits on the short path: see short-take.lua, whose reasons hold for each
-- limit. Other values, and rare cases, take the long path.
local count = (isTake or isTry) and stored and #stored > TEXT_OF_ONE
  and string.byte(stored, COUNT_AT) - 48
if count and count >= 2 and count <= MAX_LIMITS then
  local size = FIELD_COUNT + LIMIT_FIELD_COUNT * count
  local isShort = #stored == 8 * size + #mine
    and string.find(stored, mine, 8 * size + 1, true)
    and string.sub(stored, 1, COUNT_AT - 1) == FORMAT
  if isShort then
    -- Fields by their places. The limits begin at these places.
    local f = {struct.unpack(string.sub(PACKED_MOST, 1, 1 + size), stored)}
    local first, last = FIELD_COUNT + 1, size - LIMIT_FIELD_COUNT + 1
    local now, origin, check = server + f[LAG], f[ORIGIN], 0
    isShort = now >= f[SEEN]
    local answer, place, isAdmitted
    if isTake then
      answer, place = {ANSWER_DONE, server, now, origin}, 4
    elseif ARGV[6] then
      answer, place = {ANSWER_DONE, server, 0}, 2
    end
    for at = first, last, LIMIT_FIELD_COUNT do
      local z, perMicro, cap = f[at + LOW], f[at + PER_MICRO], f[at + CAP]
      check = check + f[at + PER_TOKEN] + perMicro + cap
      local ticks = (now - origin) * perMicro + 0.5
      ticks = ticks - ticks % 1
      local ahead = z - ticks
      -- No comparison holds for NaN.
      isShort = isShort and f[at + HIGH] == 0 and cap >= 0
        and ticks <= RENEW_TICKS and z >= -2 ^ 53 and ahead <= SHORT_TICKS
      if ahead < -cap then ahead = -cap end
      f[at + AHEAD], f[at + TICKS] = ahead, ticks
      if isTake then
        place = place + 1
        answer[place] = z
      end
    end
    isShort = isShort and check == f[CHECK]
    if isTake then
      place = place + 1
      answer[place] = f[EPOCH]
    end
    local isMoved, row = false, 4
    repeat
      local tokens, waitUs, calls = ARGV[row], ARGV[row + 1], ARGV[row + 2]
      tokens = (not tokens or tokens == '') and 1 or tokens + 0
      waitUs = (not waitUs or waitUs == '') and 0 or waitUs + 0
      calls = calls and calls + 0 or 1
      local admitted, isFree, isTooMuch = calls, true, false
      for at = first, last, LIMIT_FIELD_COUNT do
        local cost = tokens * f[at + PER_TOKEN]
        if cost % 1 ~= 0 then cost = cost - cost % 1 + 1 end
        -- No comparison holds for NaN, which rounding makes of infinity.
        if not (cost <= f[at + CAP]) then
          isTooMuch = true
        elseif cost > 0 then
          isFree = false
          local most, ahead = 0, f[at + AHEAD]
          if waitUs > 0 then
            most = waitUs * f[at + PER_MICRO] + 0.5
            most = math.min(most - most % 1, MAX_SPAN_TICKS)
          end
          isShort = isShort and cost * calls <= SHORT_TICKS
          if ahead + cost * calls > most then
            local fit = (most - ahead) / cost
            fit = fit < 0 and 0 or fit - fit % 1
            if fit < admitted then admitted = fit end
          end
        end
      end
      if isTooMuch then
        admitted = MORE_THAN_BURST
        if not answer then answer, place = {ANSWER_DONE, server, 0}, 2 end
      elseif isFree then
        admitted = calls
      elseif admitted > 0 then
        isMoved = true
        for at = first, last, LIMIT_FIELD_COUNT do
          local cost = tokens * f[at + PER_TOKEN]
          if cost % 1 ~= 0 then cost = cost - cost % 1 + 1 end
          local ahead = f[at + AHEAD] + admitted * cost
          isShort = isShort and ahead <= SHORT_TICKS
          f[at + AHEAD] = ahead
        end
      end
      if answer then
        place = place + 1
        answer[place] = admitted
      else
        isAdmitted = admitted == 1
      end
      row = row + 3
    until not ARGV[row]
    if isShort and not isMoved then return answer or isAdmitted and server or -server end
    if isShort then
      local fullUs = 0
      for at = first, last, LIMIT_FIELD_COUNT do
        local ahead = f[at + AHEAD]
        local us = (ahead + f[at + CAP]) / f[at + PER_MICRO]
        if us > fullUs then fullUs = us end
        f[at + LOW], f[at + HIGH] = f[at + TICKS] + ahead, 0
      end
      f[SEEN] = now
      if server + fullUs < f[EXPIRES] then
        redis.call('SETRANGE', KEYS[1], SEEN_OFFSET,
          struct.pack(string.sub(PACKED_MOST, 1, 2 + size - SEEN), unpack(f, SEEN, size)))
      else
        local ms = math.ceil(2 * fullUs / 1000) + 1
        f[EXPIRES] = server + ms * 1000
        redis.call('SET', KEYS[1], string.sub(stored, 1, EXPIRES_OFFSET)
          .. struct.pack(string.sub(PACKED_MOST, 1, 2 + size - EXPIRES), unpack(f, EXPIRES, size))
          .. mine, 'PX', string.format('%d', ms))
      end
      return answer or isAdmitted and server or -server
    end
  end
end
