/** The hosts that a parent has to admit for a relay of a deployed tree. */
import { isIP } from 'node:net';
import { childPath, isAtOrBelow } from '../../core/identity/node-path.ts';
import type { Topology } from './topology.ts';

/**
 * Returns the names of the relay and those of the relays below it: they get their certificates through this relay, whose authority signs only for hosts that the
 * relay itself has. A DNS name stands for all names below it.
 */
export function admittedHosts({ relays }: Pick<Topology, 'relays'>, path: string): string[] {
  const named = relays
    .map(({ parent, name, deploy }) => ({ at: childPath(parent, name), names: deploy?.names ?? [] }))
    .filter(({ at }) => isAtOrBelow(at, path))
    .sort((a, b) => Number(b.at === path) - Number(a.at === path));
  const hosts: string[] = [];
  for (const host of named.flatMap(({ names }) => names)) {
    if (!hosts.some((one) => one === host || (isIP(host) === 0 && host.endsWith(`.${one}`)))) hosts.push(host);
  }
  return hosts;
}
