/** Chooses the proxy to a parent: the proxy of the configuration, else the proxy of the environment, else none. */
import { BlockList, isIP } from 'node:net';
import { parseNoProxy } from './no-proxy.ts';
import { type ProxyAddress, parseProxy } from './proxy-url.ts';

/** The proxies of the environment. Only the code that may read the environment makes this value. */
export interface EnvironmentProxies {
  readonly proxy?: string;
  readonly noProxy?: string;
}

/** As a value in the configuration: dial the parent directly, whatever the environment contains. */
export const noProxyWord = 'none';

/** The variables in the order in which they are read. Lower case is preferred, as in curl. HTTP_PROXY does not apply to links, because links use TLS. */
const proxyVariables = ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'];
const noProxyVariables = ['no_proxy', 'NO_PROXY'];

/** Reads the proxies of the environment. An empty variable counts as not set. */
export function proxiesOf(environment: Readonly<Record<string, string | undefined>>): EnvironmentProxies {
  const first = (names: readonly string[]) => names.map((name) => environment[name]?.trim()).find((value) => value);
  const proxy = first(proxyVariables);
  const noProxy = first(noProxyVariables);
  return { ...(proxy ? { proxy } : {}), ...(noProxy ? { noProxy } : {}) };
}

/** `configured` is a URL, `none`, or undefined. Throws Invalid if it is not a valid proxy. */
export function chooseProxy(
  target: { readonly host: string; readonly port: number },
  configured: string | undefined,
  environment: EnvironmentProxies,
): ProxyAddress | undefined {
  if (configured === noProxyWord) return undefined;
  if (configured !== undefined) return parseProxy(configured);
  if (environment.proxy === undefined || isLoopback(target.host)) return undefined;
  if (parseNoProxy(environment.noProxy ?? '')(target.host, target.port)) return undefined;
  return parseProxy(environment.proxy);
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** True for the machine itself. A proxy of the environment never applies to this machine, because the proxy could not reach it. */
function isLoopback(host: string): boolean {
  const plain = host.toLowerCase().replace(/\.$/, '');
  if (plain === 'localhost' || plain.endsWith('.localhost')) return true;
  return isIP(host) !== 0 && loopback.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
}
