/** The session of a node with its parent, made from the node state. */
import type { ChildSessionPorts } from '../../core/session/child-ports.ts';
import { ChildSession } from '../../core/session/child-session.ts';
import { failoverDialer } from '../../core/session/failover-dialer.ts';
import { markCaughtUp } from '../../core/session/node-identity.ts';
import type { NodeConfig } from '../config/config.ts';
import type { NodePorts } from './node-ports.ts';
import type { NodeState } from './node-state.ts';

type UplinkPorts = Omit<
  ChildSessionPorts,
  'store' | 'clock' | 'random' | 'log' | 'software' | 'path' | 'role' | 'identity' | 'dialer' | 'producer' | 'consumer'
>;

export function nodeUplink(
  path: string,
  parent: NonNullable<NodeConfig['parent']>,
  { store, clock, random, log, software, network }: NodePorts,
  { identity, outbox, upstream }: NodeState,
  given: UplinkPorts,
): ChildSession {
  const addresses = [parent.address, ...(parent.replicas ?? [])];
  return new ChildSession({
    ...given,
    store,
    clock,
    random,
    log,
    software,
    path,
    role: 'relay',
    identity,
    dialer: failoverDialer(
      { clock, random },
      addresses.map((address) => network.dialer({ address, path: parent.path })),
    ),
    producer: outbox,
    consumer: upstream,
    caughtUp: () => {
      store.write((t) => markCaughtUp(t));
      given.caughtUp();
    },
  });
}
