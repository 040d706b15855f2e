// Translates a binary of the engine to JavaScript, by wasm2js.

import { transform } from 'esbuild';
import { binaryen } from './compile.mjs';

/** The high half of a double as an integer, which wasm2js repeats at each conversion. */
const HIGH_HALF =
  /Math_abs\((\$\w+)\) >= 1\.0 \? ~~\(\1 > 0\.0 \? Math_min\(Math_floor\(\1 \* (\S+)\), 4294967295\.0\) : Math_ceil\(\(\1 - \+\(~~\1 >>> 0 >>> 0\)\) \* \2\)\) >>> 0 : 0/g;

/** Moves it into one function, which saves a tenth of the text. JavaScript engines inline it. */
function withHighHalf(body) {
  const [first] = body.match(HIGH_HALF) ?? [];
  if (first === undefined) return body;
  const [, name] = /^Math_abs\((\$\w+)\)/.exec(first);
  const highHalf = ` function highHalf(${name}) {\n  return ${first};\n }\n`;
  return body.replaceAll(HIGH_HALF, 'highHalf($1)').replace(/^}$/m, `${highHalf}}`);
}

/** The unsigned division of wasm2js, and a function that only this division calls. */
const DIVISION = /^ function (\w+divmod_u64\w*)\([\s\S]*?^ }\n/m;
const TRAILING_ZEROS = /^ function __wasm_ctz_i32\([\s\S]*?^ }\n/m;

/** Replaces these 2 kB: a bucket divides only for waiting callers and on changes. */
function withShortDivision(body) {
  const [division, name] = DIVISION.exec(body) ?? [];
  if (division === undefined) return body;
  const rest = '__wasm_intrinsics_temp_i64';
  const short = body.replace(
    division,
    ` function ${name}(low, high, byLow, byHigh) {
  var word = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
  var by = (BigInt(byHigh >>> 0) << 32n) | BigInt(byLow >>> 0);
  var rest = word % by;
  word /= by;
  ${rest} = Number(BigInt.asIntN(32, rest));
  ${rest}$hi = Number(BigInt.asIntN(32, rest >> 32n));
  i64toi32_i32$HIGH_BITS = Number(BigInt.asIntN(32, word >> 32n));
  return Number(BigInt.asIntN(32, word));
 }
`,
  );
  const callers = short.match(/__wasm_ctz_i32\(/g) ?? [];
  return callers.length === 1 ? short.replace(TRAILING_ZEROS, '') : short;
}

/**
 * Translates a binary to a JavaScript function expression from imports to exports. An i64 becomes
 * two numbers; the high half of a result is passed through `env.getTempRet0`.
 */
export async function javascriptOf(binary) {
  const module = (await binaryen('wasm2js', binary, '-Oz')).toString();
  const [body] = /^function asmFunc[\s\S]*?^}$/m.exec(module) ?? [];
  if (body === undefined) throw new Error('wasm2js has changed the form of its output');
  const hasMemory = /HEAP\w+\[/.test(body);
  const lean = hasMemory ? body : body.replace(/^ var (buffer|HEAP\w+) = .*\n/gm, '');
  const short = withShortDivision(withHighHalf(lean));
  const { code } = await transform(`export const engine = ${short}`, { minify: true });
  return code.replace(/^export const engine=/, '').replace(/;\s*$/, '');
}
