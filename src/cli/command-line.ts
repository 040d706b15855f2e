import { HIDDEN, safeHeaders } from '../load/safe-headers.ts';
import { safeText } from './safe-text.ts';

const HEADER = /^(-H|--header=)(.+)$/s;
const BODY = /^(--(?:body|data)=)(?!@)(.+)$/s;
/** Query parameters whose names suggest a secret. */
const QUERY =
  /([?&][\w.-]*(?:token|secret|passw|pwd|api-?_?key|signature|credential)[\w.-]*=)[^&#\s]+/gi;
/** Arguments that need no quotes in a shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** Removes secrets from a URL, so that it may be stored. */
export function safeUrl(url: string): string {
  return safeText(url).replace(QUERY, `$1${HIDDEN}`);
}

function safeHeader(text: string): string {
  const colon = text.indexOf(':');
  if (colon === -1) return safeUrl(text);
  const name = text.slice(0, colon).trim();
  const [[, value] = ['', '']] = safeHeaders([[name, text.slice(colon + 1).trim()]]);
  return `${name}: ${value}`;
}

function safeArgument(arg: string, before: string): string {
  if (before === '-H' || before === '--header') return safeHeader(arg);
  if (before === '--body' || before === '--data') return arg.startsWith('@') ? arg : HIDDEN;
  const [, header = '', named = ''] = HEADER.exec(arg) ?? [];
  if (header !== '') return header + safeHeader(named);
  return safeUrl(arg).replace(BODY, `$1${HIDDEN}`);
}

function quoted(arg: string): string {
  return PLAIN.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`;
}

/** A command line that may be stored: without passwords, secret headers, tokens and bodies. */
export function safeCommandLine(args: readonly string[]): string {
  const safe = args.map((arg, at) => safeArgument(arg, args[at - 1] ?? ''));
  return ['zerotime', ...safe.map(quoted)].join(' ');
}
