/** Host and port as text. All code uses this function to write them. */
import { isIP } from 'node:net';

/** The authority of a URL, with the brackets that an IPv6 address needs: `[::1]:8443`. https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2 */
export function hostPort(host: string, port: number | string): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
