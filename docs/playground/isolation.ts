/**
 * Makes the page cross-origin isolated, which shared memory requires, where the server sends no
 * headers for it: a service worker adds them, once the page has been loaded again.
 *
 * @returns whether the page has shared memory now
 */
export async function isolate(): Promise<boolean> {
  if (crossOriginIsolated) return true;
  if (!('serviceWorker' in navigator) || !isSecureContext) return false;
  const url = new URL('isolation-worker.js', document.baseURI);
  await navigator.serviceWorker.register(url);
  await navigator.serviceWorker.ready;
  // Only once: a browser may not follow the headers.
  if (sessionStorage.getItem('isolated') !== null) return false;
  sessionStorage.setItem('isolated', 'tried');
  location.reload();
  return new Promise(() => {});
}
