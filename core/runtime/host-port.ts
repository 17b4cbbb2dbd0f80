/** Host and port as text. All code uses these functions to write and to check them. */
import { isIP } from 'node:net';

/** The authority of a URL, with the brackets that an IPv6 address needs: `[::1]:8443`. https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2 */
export function hostPort(host: string, port: number | string): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Returns the remedy for an address that a person wrote with a mistake. Undefined: the address has none. */
export function hostPortFlaw(text: string): string | undefined {
  const [, host = '', port = ''] = /^(\[[0-9a-fA-F:.]+\]|[^\s:[\]/]+):(\d{1,5})$/.exec(text) ?? [];
  const isBadIpv6 = host.startsWith('[') && isIP(host.slice(1, -1)) !== 6;
  if (host === '' || isBadIpv6 || Number(port) < 1 || Number(port) > 65_535) {
    return 'write host:port, or [address]:port for IPv6, without https://';
  }
  return undefined;
}
