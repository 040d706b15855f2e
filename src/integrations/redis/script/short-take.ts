import { RENEW_TICKS } from '../../../kernel/constants.ts';
import { HALF } from './arithmetic.ts';
import {
  ANSWER,
  FORMATS,
  MORE_THAN_BURST,
  NEVER_EXPIRES,
  PACKED,
  PACKED_SHORT,
  SHORT_TICKS,
  TEXT_AT,
} from './format.ts';

/**
 * Takes on the short way, where every number is an integer that a double counts: tokens flow in
 * continuously, and neither the burst nor the debt is above 2^51 ticks. Sums of these and of a time
 * of at most 2^52 ticks stay below 2^53. Other values, and rare cases, take the long path.
 *
 * The number admitted of equal calls is the floor of a quotient of two integers below 2^53: rounding
 * it never reaches the next integer.
 *
 * A key expires when its bucket is full. To move that instant costs as much as all the rest, so it is
 * moved twice as far as needed, and seldom.
 */
export const SHORT_TAKE = `local isOwn, isTake = operation == 'own try', operation == 'take'
if operation == 'own take' then isOwn, isTake = true, true end
if isTake or isOwn or operation == 'try' then
  local value, factor = stored, 2
  if not stored and isOwn then
    local perToken, perMicro, high, low, fill =
      string.match(mine, '^(%S+) (%S+) (%S+) (%S+) (%S+) ')
    local cap = high * ${HALF} + low
    local format = fill == '0' and cap <= ${SHORT_TICKS} and ${FORMATS.short} or ${FORMATS.long}
    value = struct.pack('${PACKED}', server, -cap, format, isTimed and ${NEVER_EXPIRES} or 0,
      0, 0, server, perToken, perMicro, cap, perToken + perMicro + cap, 0, 0) .. mine
    factor = 1
  end
  local isShort = value and #value == ${TEXT_AT - 1} + #mine
    and string.find(value, mine, ${TEXT_AT}, true)
  local seen, z, format, expires, lag, generation, origin, perToken, perMicro, cap, check
  if isShort then
    seen, z, format, expires, lag, generation, origin, perToken, perMicro, cap, check =
      struct.unpack('${PACKED_SHORT}', value)
    isShort = perToken + perMicro + cap == check
  end
  local now = isShort and server + lag
  if isShort and format == ${FORMATS.short} and now >= seen then
    local ticks = (now - origin) * perMicro + 0.5
    ticks = ticks - ticks % 1
    isShort = ticks <= ${RENEW_TICKS}
    local ahead = z - ticks
    if ahead < -cap then ahead = -cap end
    local before = ahead
    -- Of several rows, made with room for one: to make room takes time.
    local answer, place, admitted
    if ARGV[6] or lag ~= 0 then
      answer, place = {${ANSWER.done}, server, 0}, 2
      if isTake then answer, place = {${ANSWER.done}, server, now, origin, z, generation, 0}, 6 end
    end
    local i = 4
    repeat
      -- To read a word takes time, so the usual ones are empty or left out.
      local cost, most, count = ARGV[i], ARGV[i + 1], ARGV[i + 2]
      cost = (not cost or cost == '') and perToken or tonumber(cost) or ${2 ** 60}
      most = (not most or most == '') and 0 or most + 0
      count = count and count + 0 or 1
      if cost > cap and cost < ${2 ** 60} then
        count = ${MORE_THAN_BURST}
      elseif cost > 0 then
        local sum = cost * count
        -- All that follows is exact, or is not used.
        isShort = isShort and sum <= ${SHORT_TICKS}
        if ahead + sum > most then
          count = (most - ahead) / cost
          count = count < 0 and 0 or count - count % 1
          sum = cost * count
        end
        ahead = ahead + sum
        isShort = isShort and ahead <= ${SHORT_TICKS}
      end
      if answer then
        place = place + 1
        answer[place] = count
      else
        admitted = count
      end
      i = i + 3
    until not ARGV[i]
    if isShort then
      if ahead ~= before then
        local fullUs = (ahead + cap) / perMicro
        if stored and server + fullUs < expires then
          redis.call('SETRANGE', KEYS[1], '0', struct.pack('<dd', now, ticks + ahead))
        elseif expires == ${NEVER_EXPIRES} then
          redis.call('SET', KEYS[1],
            struct.pack('<dd', now, ticks + ahead) .. string.sub(value, 17))
        else
          local ms = math.ceil(factor * fullUs / 1000) + 1
          redis.call('SET', KEYS[1],
            struct.pack('<dddd', now, ticks + ahead, format, server + ms * 1000)
              .. string.sub(value, 33),
            'PX', string.format('%d', ms))
        end
      end
      if answer then return answer end
      if admitted == ${MORE_THAN_BURST} then
        return isTake and {${ANSWER.done}, server, now, origin, z, generation, admitted}
          or {${ANSWER.done}, server, admitted}
      end
      local signed = admitted == 1 and server or -server
      return isTake and {signed, origin, z, generation} or signed
    end
  end
end
`;
