/** The URL of a module with this code. */
export function codeUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}
