// Text from outside may hold secrets, and characters that steer a terminal. Whatever the command
// prints or stores of it passes through here.

/** Replaces a secret. */
export const HIDDEN = '***';

/** Control characters except tab and newline, and those that reorder bidirectional text. */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be printed
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * The user name and password of a URL. A password with a slash makes the URL invalid, and
 * commander's error repeats it: treat a colon without a port as the start of a password.
 */
const CREDENTIALS =
  /([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/'"]*@|(?:[^\s/'":@[]*:(?!\d+(?:[/?#\s'"]|$))|:)[^\s]*@)/gi;
/** The same without a scheme: `ann:secret@host`. */
const BARE_CREDENTIALS =
  /(?<=^|[\s'"`(<,])(?![a-z][a-z0-9+.-]*:\/\/|(?:data|file|mailto|node|npm):)[^\s'"`:/@]{0,99}:(?!\d+(?:[/?#\s'"]|$))[^\s'"`]*@(?=[\w[])/gi;

/** Names of secrets in any text. */
const ALWAYS = /authorization|cookie|secret|passw|passphrase|passcode|pwd|apikey|accesskey|jwt/i;
/** The same in a name of several words, or before an equals sign. */
const USUALLY =
  /token|credential|signature|bearer|session|sess_?id|oauth|saml|[cx]srf|hmac|assertion|api-?_?key/i;
/** The same if it is one of the words. */
const AS_WORD = /(?:^|[^a-z])(?:auth|creds?|mfa|otp|pass|pin|pw|sas|sid|sig|sso|totp)(?:$|[^a-z])/i;
/** Common words, which name secrets in the query of a URL. */
const IN_QUERY = /(?:^|[^a-z])(?:code|key|ticket)(?:$|[^a-z])|key$/i;
const SEVERAL_WORDS = /[-_]|[a-z][A-Z]/;

/** A parameter in the query or the fragment of a URL; the query of a URL within a URL is encoded. */
const PARAMETER =
  /([?&#;]|%3f|%26|%23)((?:(?!%3[df]|%2[36])[^=&#;?\s]){1,99})(=|%3d)((?:(?!%26|%23)[^&#\s])+)/gi;
/** The name of a field whose value follows, and the end of that value. */
const FIELD = /([\w-]+)["']?\s*:(?!\s*(?:\w+ )?\.\.\.)\s*/g;
const END_OF_FIELD = /'?(?: is invalid|$)/;
/** `name=value`; such a value has no spaces, and is not the padding of base64. */
const ASSIGNMENT = /([\w-]+)=(?!\.\.\.|\*\*\*|=(?![^\s&'"]))[^\s&'"]+/g;
/** The value of a header that commander rejects, with or without a colon. */
const INVALID_HEADER = /(--header <name: value>' argument ')([\w-]*)(.*?)(?=' is invalid)/gis;
const INVALID_SECRET = /('(?:proxy-)?(?:authorization|cookie))\s.*?(?='? is invalid)/gi;
/** Secrets that are recognizable without a name. Three dots are a placeholder in our own advice. */
const SCHEMES = /\b(Bearer|Basic|Digest|Negotiate)(,?\s+)(?!\.\.\.)[^\s'"]+/gi;
const TOKENS =
  /\b(?:eyJ[\w-]{6,}\.[\w-]+(?:\.[\w-]*)?|(?:gh[pousr]_|xox[abprs]-|sk[-_](?:live|test|proj)[-_])[\w-]{8,}|AKIA[0-9A-Z]{12,})/g;

/** Makes external text safe to print or store: without secrets and control characters. */
export function safeText(text: string): string {
  return safeParameters(printable(text))
    .replace(CREDENTIALS, `$1${HIDDEN}@`)
    .replace(BARE_CREDENTIALS, `${HIDDEN}@`)
    .replace(INVALID_HEADER, `$1$2: ${HIDDEN}`)
    .replace(INVALID_SECRET, `$1: ${HIDDEN}`)
    .replace(ASSIGNMENT, (all, name) => (isAssigned(name) ? `${name}=${HIDDEN}` : all))
    .replace(SCHEMES, `$1$2${HIDDEN}`)
    .replace(TOKENS, HIDDEN)
    .replace(/.+/g, safeLine);
}

/** Makes all text in plain data safe. */
export function safeData<T>(data: T): T {
  if (typeof data === 'string') return safeText(data) as T;
  if (Array.isArray(data)) return data.map(safeData) as T;
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([name, one]) => [name, safeData(one)])) as T;
}

/** Escapes control characters, as in `\x1b` and `\u202e`. */
export function printable(text: string): string {
  return text.replace(CONTROLS, escaped);
}

/** {@link safeText} as a part of one line. */
export function safeTextLine(text: string): string {
  return safeText(text).replace(/[\t\n]/g, escaped);
}

/** {@link printable} as a part of one line: a name with a line break must not forge another. */
export function printableLine(text: string): string {
  return printable(text).replace(/[\t\n]/g, escaped);
}

function escaped(char: string): string {
  const code = char.charCodeAt(0).toString(16);
  return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
}

function safeParameters(text: string): string {
  return text.replace(PARAMETER, (_, lead, name, sign, value) => {
    const isSecret = [name, decoded(name)].some((one) => isAssigned(one) || IN_QUERY.test(one));
    return lead + name + sign + (isSecret ? HIDDEN : safeParameters(value));
  });
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Hides the value of the first secret field: it reaches to the end of the line. */
function safeLine(line: string): string {
  for (const { 0: start, 1: name = '', index } of line.matchAll(FIELD)) {
    if (!isField(name)) continue;
    const from = index + start.length;
    const length = END_OF_FIELD.exec(line.slice(from))?.index;
    return line.slice(0, from) + HIDDEN + line.slice(from + (length ?? 0));
  }
  return line;
}

function isAssigned(name: string): boolean {
  return ALWAYS.test(name) || USUALLY.test(name) || AS_WORD.test(name);
}

function isField(name: string): boolean {
  return (
    ALWAYS.test(name) || (SEVERAL_WORDS.test(name) && (isAssigned(name) || /key$/i.test(name)))
  );
}
