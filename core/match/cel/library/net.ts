/** The libraries `ip` and `cidr` of Kubernetes (k8s.io/apiserver/pkg/cel/library/ip.go, cidr.go). */
import type { Environment } from '@marcbachmann/cel-js';
import { definer } from './define.ts';
import { Cidr, Ip, parseCidr, parseIp } from './ip.ts';
import { namespace } from './namespaces.ts';

const ip = 'net.IP';
const cidr = 'net.CIDR';

export function addNet(environment: Environment): void {
  const define = definer(environment);
  environment.registerType(ip, Ip);
  environment.registerType(cidr, Cidr);
  environment.registerOperator(`${ip} == ${ip}`, (a: Ip, b: Ip) => a.equals(b));
  environment.registerOperator(`${cidr} == ${cidr}`, (a: Cidr, b: Cidr) => a.equals(b));

  define(`ip(string): ${ip}`, parseIp);
  define('isIP(string): bool', (text: string) => isValid(parseIp, text));
  define(`${namespace('ip')}.isCanonical(string): bool`, (_, text: string) => parseIp(text).toString() === text);
  define(`string(${ip}): string`, String);
  define(`${ip}.family(): int`, (one: Ip) => BigInt(one.family));
  define(`${ip}.isUnspecified(): bool`, (one: Ip) => one.isUnspecified);
  define(`${ip}.isLoopback(): bool`, (one: Ip) => one.isLoopback);
  define(`${ip}.isLinkLocalMulticast(): bool`, (one: Ip) => one.isLinkLocalMulticast);
  define(`${ip}.isLinkLocalUnicast(): bool`, (one: Ip) => one.isLinkLocalUnicast);
  define(`${ip}.isGlobalUnicast(): bool`, (one: Ip) => one.isGlobalUnicast);

  define(`cidr(string): ${cidr}`, parseCidr);
  define('isCIDR(string): bool', (text: string) => isValid(parseCidr, text));
  define(`string(${cidr}): string`, String);
  define(`${cidr}.ip(): ${ip}`, (one: Cidr) => one.ip);
  define(`${cidr}.prefixLength(): int`, (one: Cidr) => BigInt(one.length));
  define(`${cidr}.masked(): ${cidr}`, (one: Cidr) => one.masked());
  define(`${cidr}.containsIP(string): bool`, (one: Cidr, text: string) => one.containsIp(parseIp(text)));
  define(`${cidr}.containsIP(${ip}): bool`, (one: Cidr, other: Ip) => one.containsIp(other));
  define(`${cidr}.containsCIDR(string): bool`, (one: Cidr, text: string) => one.containsCidr(parseCidr(text)));
  define(`${cidr}.containsCIDR(${cidr}): bool`, (one: Cidr, other: Cidr) => one.containsCidr(other));
}

function isValid(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}
