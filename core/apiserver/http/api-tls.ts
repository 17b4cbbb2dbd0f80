/** The certificates of the API from their files, which may change while the node runs. */
import type { ApiTls } from './https-listener.ts';

export interface ApiTlsFiles {
  /** The node's own certificate, and the authority of the tree. */
  node(): { readonly caPem: Buffer; readonly certPem: Buffer; readonly keyPem: Buffer };
  /** The authorities of users. Absent: the authority of the tree is the one of users too, as in installations that name no other. */
  readonly users?: (() => Buffer) | undefined;
  /** The authorities of front proxies. Absent: there are none. */
  readonly frontProxies?: (() => Buffer) | undefined;
}

/** The result returns the same object as long as no file has changed. */
export function apiTls({ node, users, frontProxies }: ApiTlsFiles): () => ApiTls {
  let last: ApiTls | undefined;
  return () => {
    const { caPem, certPem: cert, keyPem: key } = node();
    const ca = users?.() ?? caPem;
    const frontProxyCa = frontProxies?.();
    if (last && last.cert === cert && last.key === key && last.ca === ca && last.frontProxyCa === frontProxyCa)
      return last;
    last = { cert, key, ca, ...(frontProxyCa ? { frontProxyCa } : {}) };
    return last;
  };
}
