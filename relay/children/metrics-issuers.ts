/** Brings the nodes whose tokens for metrics are good down the tree: those above, and this one, in one entry for each child. */
import type { MetricsIssuer } from '../../core/authentication/metrics-tokens.ts';
import { issuersMax, type MetricsIssuersAttributes } from '../../core/entries/down-attributes.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { text } from '../../core/store/bytes.ts';
import type { Transaction } from '../../core/store/store.ts';

/** The attributes of the entry. All children of a node get the same list until a change, so one encoding serves all of them. */
const encoded = new WeakMap<readonly MetricsIssuer[], Uint8Array>();

function attributesOf(issuers: readonly MetricsIssuer[]): Uint8Array {
  const known = encoded.get(issuers);
  if (known) return known;
  // The nearest nodes are the last ones.
  const sent = { issuers: issuers.slice(-issuersMax) } satisfies MetricsIssuersAttributes;
  const attributes = text(stableStringify(sent));
  encoded.set(issuers, attributes);
  return attributes;
}

/** A tree in which no ServiceAccount has the role for metrics has no such entry. */
export function sendMetricsIssuers(t: Transaction, mailbox: Producer, issuers: readonly MetricsIssuer[]): void {
  const key = entryKey.metrics();
  if (issuers.length === 0) return void mailbox.remove(t, hash128(key), 0);
  mailbox.put(t, { key, attributes: attributesOf(issuers), body: new Uint8Array(0) }, 0);
}
