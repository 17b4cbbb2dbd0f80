/**
 * The entries that all children of a node get with the same attributes: the revocations of users and nodes, the nodes whose tokens for metrics are good, and the
 * authorities of nodes. All are of the nodes above and of this node.
 */
import type { Revocations, Revoked } from '../../core/access/revocations.ts';
import type { MetricsIssuer } from '../../core/authentication/metrics-tokens.ts';
import {
  type AuthoritiesAttributes,
  issuersMax,
  type MetricsIssuersAttributes,
  type RevokedAttributes,
} from '../../core/entries/down-attributes.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { text } from '../../core/store/bytes.ts';
import type { Transaction } from '../../core/store/store.ts';

export interface InheritedPorts {
  readonly revocations: Pick<Revocations, 'all'>;
  readonly metricsAccounts: { issuers(): readonly MetricsIssuer[] };
  /** Undefined: nobody has handed authorities down. */
  authorities(): AuthoritiesAttributes | undefined;
}

/** All children get the same value until a change, so one encoding serves all of them. */
const encoded = new WeakMap<object, Uint8Array>();
const empty = new Uint8Array(0);

/** A node that has nothing to send removes the entry: the last revocation was deleted, for example. */
export function sendInherited(t: Transaction, mailbox: Producer, ports: InheritedPorts): void {
  send(t, mailbox, entryKey.revoked(), ports.revocations.all(), revokedAttributes);
  send(t, mailbox, entryKey.metrics(), ports.metricsAccounts.issuers(), issuersAttributes);
  const authorities = ports.authorities();
  // The entry never goes: a node that has received authorities keeps them.
  if (authorities) send(t, mailbox, entryKey.authorities(), authorities, (value) => value);
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
