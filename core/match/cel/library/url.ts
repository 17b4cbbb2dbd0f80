/** The url library of Kubernetes (k8s.io/apiserver/pkg/cel/library/urls.go). URLs are read as Go's package net/url reads them. */

import { isIPv6 } from 'node:net';
import type { Environment } from '@marcbachmann/cel-js';
import { definer } from './define.ts';

const type = 'kubernetes.URL';

export class Url {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(parts: Pick<Url, 'scheme' | 'host' | 'path' | 'query'>) {
    this.scheme = parts.scheme;
    this.host = parts.host;
    this.path = parts.path;
    this.query = parts.query;
  }

  equals(other: unknown): boolean {
    return other instanceof Url && other.toString() === this.toString();
  }

  toString(): string {
    return JSON.stringify([this.scheme, this.host, this.path, this.query]);
  }
}

export function addUrls(environment: Environment): void {
  const define = definer(environment);
  environment.registerType(type, Url);
  environment.registerOperator(`${type} == ${type}`, (a: Url, b: Url) => a.equals(b));
  define(`url(string): ${type}`, parse);
  define('isURL(string): bool', (text: string) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  });
  define(`${type}.getScheme(): string`, ({ scheme }: Url) => scheme);
  define(`${type}.getHost(): string`, ({ host }: Url) => host);
  define(`${type}.getHostname(): string`, ({ host }: Url) => splitHost(host).name);
  define(`${type}.getPort(): string`, ({ host }: Url) => splitHost(host).port);
  define(`${type}.getEscapedPath(): string`, ({ path }: Url) => path);
  define(`${type}.getQuery(): map<string, list<string>>`, ({ query }: Url) => queryOf(query));
}

/** Throws TypeError if the text is no absolute URI and no absolute path. A fragment is left out. */
export function parse(text: string): Url {
  const refuse = (why: string): never => {
    throw new TypeError(`URL parse error during conversion from string: parse ${JSON.stringify(text)}: ${why}`);
  };
  if (text === '') refuse('empty url');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Go refuses them.
  if (/[\u0000-\u001f\u007f]/.test(text)) refuse('net/url: invalid control character in URL');
  if (text === '*') return new Url({ scheme: '', host: '', path: '*', query: '' });
  const [, scheme = '', all = ''] = /^(?:([a-zA-Z][a-zA-Z\d+.-]*):)?(.*)$/s.exec(text)!;
  if (scheme === '' && text.startsWith(':')) refuse('missing protocol scheme');
  const withoutFragment = all.replace(/#.*$/s, '');
  const cut = withoutFragment.indexOf('?');
  const [rest, query] =
    cut < 0 ? [withoutFragment, ''] : [withoutFragment.slice(0, cut), withoutFragment.slice(cut + 1)];
  if (!all.startsWith('/')) {
    // A path that begins without a slash is opaque, and the URL has none.
    return scheme === ''
      ? refuse('invalid URI for request')
      : new Url({ scheme: scheme.toLowerCase(), host: '', path: '', query });
  }
  const [, authority, path = ''] = /^(?:\/\/([^/]*))?(.*)$/s.exec(scheme === '' ? `${rest}` : rest)!;
  const hasHost = scheme !== '' && authority !== undefined;
  const host = hasHost ? hostOf(authority, scheme.toLowerCase(), refuse) : '';
  return new Url({ scheme: scheme.toLowerCase(), host, path: pathOf(hasHost ? path : rest, refuse), query });
}

function hostOf(authority: string, scheme: string, refuse: (why: string) => never): string {
  const at = authority.lastIndexOf('@');
  if (!/^[\w\-.:~!$&'()*+,;=%@]*$/.test(authority.slice(0, Math.max(at, 0)))) refuse('net/url: invalid userinfo');
  checkEscapes(authority.slice(0, Math.max(at, 0)), refuse);
  const host = authority.slice(at + 1);
  const literal = /^\[(.*)\](:\d*)?$/s.exec(host);
  if (literal) {
    const [, address = '', port = ''] = literal;
    const name = address.replace(/%25(.*)$/s, '%$1');
    if (!isIPv6(name)) refuse('invalid host');
    return `[${name}]${port}`;
  }
  if (host.includes('[') || host.includes(']')) refuse('invalid IP-literal');
  // Go takes several colons, as of a list of hosts, for other schemes than these.
  const isStrict = scheme === 'http' || scheme === 'https';
  const colon = isStrict ? host.indexOf(':') : host.lastIndexOf(':');
  if (colon >= 0 && !/^:\d*$/.test(host.slice(colon)))
    refuse(`invalid port ${JSON.stringify(host.slice(colon))} after host`);
  checkEscapes(host, refuse);
  if (/%[0-7]/.test(host)) refuse(`invalid URL escape ${JSON.stringify(/%[0-7]./.exec(host)![0])}`);
  const wrong = /[\u0020"<>\\^`{|}]/.exec(host.replaceAll(/["<>]/g, ''));
  if (wrong) refuse(`invalid character ${JSON.stringify(wrong[0])} in host name`);
  return unescaped(host);
}

/** The path, escaped as Go does: as it was written if that is valid, and otherwise escaped anew. */
function pathOf(path: string, refuse: (why: string) => never): string {
  checkEscapes(path, refuse);
  if (/^[\w\-.~$&+,/:;=@!'()*[\]%]*$/.test(path)) return path;
  return encodeURIComponent(unescaped(path))
    .replaceAll(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, decodeURIComponent)
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function checkEscapes(text: string, refuse: (why: string) => never): void {
  const wrong = /%(?![\da-fA-F]{2})/.exec(text);
  if (wrong) refuse(`invalid URL escape ${JSON.stringify(text.slice(wrong.index, wrong.index + 3))}`);
}

function unescaped(text: string): string {
  const bytes = text.replaceAll(/[^%]+|%([\da-fA-F]{2})/g, (part, hex: string | undefined) =>
    hex === undefined ? Buffer.from(part).toString('latin1') : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString();
}

function splitHost(host: string): { name: string; port: string } {
  const [, name = '', port = ''] = /^(.*?)(?::(\d*))?$/s.exec(host)!;
  return { name: name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name, port };
}

/** Parts with a mistake are left out, as in Go. */
function queryOf(query: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const part of query.split('&')) {
    if (part === '' || part.includes(';') || /%(?![\da-fA-F]{2})/.test(part)) continue;
    const cut = part.indexOf('=');
    const [key, value] = cut < 0 ? [part, ''] : [part.slice(0, cut), part.slice(cut + 1)];
    const plain = (text: string) => unescaped(text.replaceAll('+', ' '));
    found.set(plain(key), [...(found.get(plain(key)) ?? []), plain(value)]);
  }
  return found;
}
