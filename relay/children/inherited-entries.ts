/**
 * The entries that all children of a node get with the same attributes: the revocations of users and nodes, the nodes whose tokens for metrics are good, and the
 * authorities of nodes. All are of the nodes above and of this node. A replica also gets the revocations that were made at another replica of its path. For this,
 * each replica reports its own ones to the parent: replicas do not know each other.
 */
import { type Revocations, type Revoked, withRevoked } from '../../core/access/revocations.ts';
import type { MetricsIssuer } from '../../core/authentication/metrics-tokens.ts';
import {
  type AuthoritiesAttributes,
  issuersMax,
  type MetricsIssuersAttributes,
  type RevokedAttributes,
} from '../../core/entries/down-attributes.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import { revokedByReplica } from '../../core/entries/revoked-above.ts';
import type { Producer, Table } from '../../core/feed/feed.ts';
import { childPath, isBelow } from '../../core/identity/node-path.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Mailbox, Mailboxes } from '../mailbox/mailboxes.ts';

export interface InheritedPorts {
  /** The path of this node. */
  readonly path: string;
  readonly mailboxes: Mailboxes;
  readonly revocations: Pick<Revocations, 'all'>;
  readonly metricsAccounts: { issuers(): readonly MetricsIssuer[] };
  /** Undefined: nobody has handed authorities down. */
  authorities(): AuthoritiesAttributes | undefined;
}

/** All children get the same value until a change, so one encoding serves all of them. */
const encoded = new WeakMap<object, Uint8Array>();
const empty = new Uint8Array(0);

/** A node that has nothing to send removes the entry: the last revocation was deleted, for example. */
export function sendInherited(
  t: Transaction,
  { child, producer }: Pick<Mailbox, 'child' | 'producer'>,
  { path, mailboxes, revocations, metricsAccounts, authorities }: InheritedPorts,
): void {
  const others = mailboxes.replicasOf(child).flatMap((replica) => {
    const mailbox = replica === child ? undefined : mailboxes.get(replica);
    return mailbox?.role === 'relay' ? [mailbox.reported] : [];
  });
  const revoked = revokedAtReplicas(t, childPath(path, child), others).reduce(withRevoked, revocations.all());
  send(t, producer, entryKey.revoked(), revoked, revokedAttributes);
  send(t, producer, entryKey.metrics(), metricsAccounts.issuers(), issuersAttributes);
  const handed = authorities();
  // The entry never goes: a node that has received authorities keeps them.
  if (handed) send(t, producer, entryKey.authorities(), handed, (value) => value);
}

/** Reports to the parent the revocations that were made at this replica. A node without replicas reports nothing. */
export function reportOwnRevoked(
  t: Transaction,
  outbox: Producer,
  revocations: Pick<Revocations, 'own'>,
  hasReplicas: boolean,
): void {
  send(t, outbox, entryKey.ownRevoked(), revocations.own(), (own) =>
    hasReplicas ? revokedAttributes(own) : undefined,
  );
}

/**
 * The revocations that these replicas have made themselves, one record for each. `path`: the path of the replicas. They may revoke nodes below it, and not each
 * other. They may revoke any user: the others pass it on to the same nodes to which a replica could send it itself.
 */
export function revokedAtReplicas(reader: Reader, path: string, reports: readonly Table[]): Revoked[] {
  return reports.map((table) => {
    const { users, nodes } = revokedByReplica(reader, table);
    const below = Object.entries(nodes).filter(([of]) => isBelow(of, path));
    return { users, nodes: Object.fromEntries(below) };
  });
}

function send<T extends object>(
  t: Transaction,
  mailbox: Producer,
  key: string,
  value: T,
  attributesOf: (value: T) => object | undefined,
): void {
  const attributes = encoded.get(value) ?? encode(attributesOf(value));
  encoded.set(value, attributes);
  if (attributes.length === 0) mailbox.remove(t, hash128(key), 0);
  else mailbox.put(t, { key, attributes, body: empty }, 0);
}

function encode(attributes: object | undefined): Uint8Array {
  return attributes ? text(stableStringify(attributes)) : empty;
}

function revokedAttributes({ users, nodes }: Revoked): RevokedAttributes | undefined {
  if (isEmpty(nodes)) return isEmpty(users) ? undefined : { users };
  return { users, nodes };
}

/** The nearest nodes are the last ones. */
function issuersAttributes(issuers: readonly MetricsIssuer[]): MetricsIssuersAttributes | undefined {
  return issuers.length === 0 ? undefined : { issuers: issuers.slice(-issuersMax) };
}

function isEmpty(record: Readonly<Record<string, number>>): boolean {
  return Object.keys(record).length === 0;
}
