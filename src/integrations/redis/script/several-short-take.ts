import { MAX_SPAN_TICKS, RENEW_TICKS } from '../../../kernel/constants.ts';
import { MAX_LIMITS } from '../../../memory/layout.ts';
import {
  ANSWER,
  FORMATS,
  MORE_THAN_BURST,
  SEVERAL_BYTES,
  SEVERAL_SIZE,
  SHORT_TICKS,
} from './format.ts';

/**
 * Takes under several limits on the short path: see short-take.ts, whose reasons hold for each limit.
 * Stored values have no high halves in this range. Other values, and rare cases, take the long path.
 */
export const SEVERAL_SHORT_TAKE = `local isAll = string.sub(operation, 1, 4) == 'all '
local isTake = operation == 'all own take' or operation == 'all take'
if isAll and stored and #stored >= ${SEVERAL_BYTES.least}
  and (isTake or operation == 'all own try' or operation == 'all try') then
  local count = struct.unpack('<d', stored, ${SEVERAL_BYTES.count})
  local size = ${SEVERAL_SIZE}
  local isShort = count >= 2 and count <= ${MAX_LIMITS} and count % 1 == 0
    and #stored == 8 * size + #mine
    and string.find(stored, mine, 8 * size + 1, true) == 8 * size + 1
  if isShort then
    local f = {struct.unpack('<' .. string.rep('d', size), stored)}
    local origin, expires, check, fixed = f[5], f[4], 0, 9 + 2 * count
    local now = server + f[1]
    isShort = f[3] == ${FORMATS.several} and now >= f[9]
    local answer, place, isAdmitted
    if isTake then
      answer, place = {${ANSWER.done}, server, now, origin}, 4
    elseif ARGV[6] then
      answer, place = {${ANSWER.done}, server, 0}, 2
    end
    for i = 1, count do
      local at = fixed + 4 * i - 4
      local cap, high, z = f[at + 4], f[8 + 2 * i], f[9 + 2 * i]
      check = check + f[at + 1] + f[at + 2] + f[at + 3] + cap
      local ticks = (now - origin) * f[at + 2] + 0.5
      ticks = ticks - ticks % 1
      local ahead = z - ticks
      -- No comparison holds for NaN.
      isShort = isShort and high == 0 and f[at + 3] == 0 and cap <= ${SHORT_TICKS}
        and ticks <= ${RENEW_TICKS} and z >= -${2 ** 53} and ahead <= ${SHORT_TICKS}
      if ahead < -cap then ahead = -cap end
      -- In the places of the high halves, which are 0.
      f[8 + 2 * i], f[at + 3] = ahead, ticks
      if isTake then
        place = place + 1
        answer[place] = z
      end
    end
    isShort = isShort and check == f[7]
    if isTake then
      place = place + 1
      answer[place] = f[2]
    end
    local isMoved, row = false, 4
    repeat
      local tokens, waitUs, calls = ARGV[row], ARGV[row + 1], ARGV[row + 2]
      tokens = (not tokens or tokens == '') and 1 or tokens + 0
      waitUs = (not waitUs or waitUs == '') and 0 or waitUs + 0
      calls = calls and calls + 0 or 1
      local admitted, isFree, isTooMuch = calls, true, false
      for at = fixed, fixed + 4 * count - 4, 4 do
        local cost = tokens * f[at + 1]
        if cost % 1 ~= 0 then cost = cost - cost % 1 + 1 end
        -- No comparison holds for NaN, which rounding makes of infinity.
        if not (cost <= f[at + 4]) then
          isTooMuch = true
        elseif cost > 0 then
          isFree = false
          local most, ahead = 0, f[10 + (at - fixed) / 2]
          if waitUs > 0 then
            most = waitUs * f[at + 2] + 0.5
            most = math.min(most - most % 1, ${MAX_SPAN_TICKS})
          end
          isShort = isShort and cost * calls <= ${SHORT_TICKS}
          if ahead + cost * calls > most then
            local fit = (most - ahead) / cost
            fit = fit < 0 and 0 or fit - fit % 1
            if fit < admitted then admitted = fit end
          end
        end
      end
      if isTooMuch then
        admitted = ${MORE_THAN_BURST}
        if not answer then answer, place = {${ANSWER.done}, server, 0}, 2 end
      elseif isFree then
        admitted = calls
      elseif admitted > 0 then
        isMoved = true
        for at = fixed, fixed + 4 * count - 4, 4 do
          local cost = tokens * f[at + 1]
          if cost % 1 ~= 0 then cost = cost - cost % 1 + 1 end
          local ahead = f[10 + (at - fixed) / 2] + admitted * cost
          isShort = isShort and ahead <= ${SHORT_TICKS}
          f[10 + (at - fixed) / 2] = ahead
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
      for i = 1, count do
        local at = fixed + 4 * i - 4
        local ahead = f[8 + 2 * i]
        local us = (ahead + f[at + 4]) / f[at + 2]
        if us > fullUs then fullUs = us end
        f[8 + 2 * i], f[9 + 2 * i] = 0, f[at + 3] + ahead
      end
      if server + fullUs < expires then
        f[9] = now
        redis.call('SETRANGE', KEYS[1], '${SEVERAL_BYTES.fixed}',
          struct.pack('<' .. string.rep('d', 1 + 2 * count), unpack(f, 9, 9 + 2 * count)))
        return answer or isAdmitted and server or -server
      end
    end
  end
end
`;
