/** The URL of a proxy, for example `http://user:password@proxy.example:3128`. The password never appears in a message or a log. */
import { BanyanError } from '../../runtime/errors.ts';
import { hostPort } from '../../runtime/host-port.ts';

export interface ProxyAddress {
  /** The connection to the proxy itself uses TLS. */
  readonly secure: boolean;
  /** The host without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  /** The value of the header Proxy-Authorization. */
  readonly authorization?: string;
  /** The proxy for messages, without user name and password. */
  readonly shown: string;
}

const defaultPorts: Record<string, number> = { 'http:': 80, 'https:': 443 };

/**
 * Reads the URL of a proxy. A text without a scheme means `http`, because the variables of the environment are often written so. Throws Invalid. The
 * message never contains the text, which may have a password.
 */
export function parseProxy(text: string): ProxyAddress {
  const trimmed = text.trim();
  const url = urlOf(/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`);
  const { protocol, hostname, port, username, password, pathname, search, hash } = url;
  const defaultPort = defaultPorts[protocol];
  if (defaultPort === undefined) throw invalid(`its scheme is ${protocol.slice(0, -1)}; http and https are supported`);
  if (hostname === '') throw invalid('it names no host');
  if (!/^\/?$/.test(pathname) || search !== '' || hash !== '') throw invalid('something follows the host and port');
  const host = hostname.replace(/^\[|\]$/g, '');
  const effectivePort = port === '' ? defaultPort : Number(port);
  const shown = `${protocol}//${hostPort(host, effectivePort)}`;
  const proxy = { secure: protocol === 'https:', host, port: effectivePort, shown };
  if (username === '' && password === '') return proxy;
  return { ...proxy, authorization: basic(decode(username), decode(password)) };
}

/** https://www.rfc-editor.org/rfc/rfc7617#section-2 The user name must not have a colon, and neither user name nor password may have control characters. */
function basic(user: string, password: string): string {
  if (user.includes(':')) throw invalid("the user's name has a colon, which Basic authentication can't carry");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the code looks for control characters.
  if (/[\u0000-\u001f\u007f]/.test(user + password)) throw invalid('name or password has a control character');
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid('name or password is not percent-encoded UTF-8: write % as %25, @ as %40');
  }
}

function urlOf(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw invalid('it is no URL: write http://host:port or http://user:password@host:port');
  }
}

function invalid(what: string): BanyanError {
  return new BanyanError('Invalid', `the proxy's address can't be used: ${what}`);
}
