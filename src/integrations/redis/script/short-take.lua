-- Takes on the short path, where every number is an integer that a double counts: tokens flow in
-- continuously, and neither the burst nor the debt of any limit is above SHORT_TICKS. Sums of these
-- and of a time of at most RENEW_TICKS stay below 2^53. Other values, and rare cases such as calls
-- for more than the burst, take the long path.
--
-- The number admitted of equal calls is the floor of a quotient of two integers below 2^53: rounding
-- it never reaches the next integer.
--
-- A key expires when its bucket is full. To move that instant costs as much as all the rest, so it is
-- moved twice as far as needed, and seldom.
local isOwn, isTake = operation == 'own try', operation == 'take'
if operation == 'own take' then isOwn, isTake = true, true end
if isOwn or isTake or operation == 'try' then
  -- Fields by their places, if the short path can read them.
  local size, f
  if stored then
    local count = (string.byte(stored, COUNT_AT) or 0) - 48
    size = FIELD_COUNT + LIMIT_FIELD_COUNT * count
    if count >= 1 and count <= MAX_LIMITS and #stored == 8 * size + #mine
      and string.find(stored, mine, 8 * size + 1, true)
      and string.sub(stored, 1, COUNT_AT - 1) == FORMAT then
      f = {struct.unpack(count == 1 and PACKED_ONE or string.sub(PACKED_MOST, 1, 1 + size), stored)}
    end
  elseif isOwn then
    local perToken, perMicro, high, low =
      string.match(mine, '^(%S+) (%S+) (%S+) (%S+) 0 %S+ [^%s;]+$')
    local cap = high and high * HALF + low
    if cap and cap <= SHORT_TICKS then
      size = FIELD_COUNT + LIMIT_FIELD_COUNT
      f = {FORMAT_ONE, perToken + perMicro + cap, 0, 0, server, isTimed and NEVER or 0, server,
        -cap, 0, perToken + 0, perMicro + 0, cap}
    end
  end
  if f then
    -- The limits begin at these places.
    local first, last = FIELD_COUNT + 1, size - LIMIT_FIELD_COUNT + 1
    local now, origin, check = server + f[LAG], f[ORIGIN], 0
    local isShort, isSingle = now >= f[SEEN], not ARGV[6] and now == server
    -- Made with room for one limit: to make room takes time.
    local answer, place
    if isTake then
      if isSingle then
        answer, place = {server, origin, 0, 0}, 2
      else
        answer, place = {ANSWER_DONE, server, now, origin, 0, 0, 0}, 4
      end
    elseif not isSingle then
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
    local isMoved, admitted, row = false, nil, 4
    repeat
      -- To read a word takes time, so the usual ones are empty or left out.
      local tokens, waitUs, calls = ARGV[row], ARGV[row + 1], ARGV[row + 2]
      tokens = (not tokens or tokens == '') and 1 or tokens + 0
      waitUs = waitUs and waitUs ~= '' and waitUs + 0 or 0
      calls = calls and calls + 0 or 1
      admitted = calls
      for at = first, last, LIMIT_FIELD_COUNT do
        local cost = tokens * f[at + PER_TOKEN]
        if cost % 1 ~= 0 then cost = cost - cost % 1 + 1 end
        -- Rounding makes NaN of infinity. All that follows is exact, or is not used.
        isShort = isShort and cost <= f[at + CAP] and cost * calls <= SHORT_TICKS
        if cost > 0 then
          local most, ahead = 0, f[at + AHEAD]
          if waitUs > 0 then
            -- Promises under several limits take the long path.
            isShort = isShort and (first == last or ahead + cost * calls <= 0)
            most = waitUs * f[at + PER_MICRO] + 0.5
            most = math.min(most - most % 1, MAX_SPAN_TICKS)
          end
          if ahead + cost * calls > most then
            local fit = (most - ahead) / cost
            fit = fit < 0 and 0 or fit - fit % 1
            if fit < admitted then admitted = fit end
          end
        end
      end
      if admitted > 0 then
        for at = first, last, LIMIT_FIELD_COUNT do
          local cost = tokens * f[at + PER_TOKEN]
          if cost % 1 ~= 0 then cost = cost - cost % 1 + 1 end
          local ahead = f[at + AHEAD] + admitted * cost
          isMoved = isMoved or cost > 0
          isShort = isShort and ahead <= SHORT_TICKS
          f[at + AHEAD] = ahead
        end
      end
      if not isSingle then
        place = place + 1
        answer[place] = admitted
      end
      row = row + 3
    until not ARGV[row]
    if isShort then
      if isMoved then
        local fullUs = 0
        for at = first, last, LIMIT_FIELD_COUNT do
          local ahead = f[at + AHEAD]
          local us = (ahead + f[at + CAP]) / f[at + PER_MICRO]
          if us > fullUs then fullUs = us end
          f[at + LOW], f[at + HIGH] = f[at + TICKS] + ahead, 0
        end
        f[SEEN] = now
        if stored and server + fullUs < f[EXPIRES] then
          redis.call('SETRANGE', KEYS[1], SEEN_OFFSET, first == last
            and struct.pack('<dd', now, f[first])
            or struct.pack(string.sub(PACKED_MOST, 1, 2 + last - SEEN), unpack(f, SEEN, last)))
        else
          local ms = math.ceil((stored and 2 or 1) * fullUs / 1000) + 1
          if f[EXPIRES] ~= NEVER then f[EXPIRES] = server + ms * 1000 end
          local line = struct.pack(string.sub(PACKED_MOST, 1, 1 + size), unpack(f, 1, size)) .. mine
          if f[EXPIRES] == NEVER then
            redis.call('SET', KEYS[1], line)
          else
            redis.call('SET', KEYS[1], line, 'PX', string.format('%d', ms))
          end
        end
      end
      local signed = admitted == 1 and server or -server
      if isSingle and not isTake then return signed end
      if isSingle then answer[1] = signed end
      return answer
    end
  end
end
