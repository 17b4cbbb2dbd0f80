/** The attribute of a node's report about its quarantined entries. */
import type { FeedConsumer } from '../feed/consumer.ts';
import type { Quarantined } from '../feed/quarantine.ts';
import type { Reader } from '../store/store.ts';
import type { QuarantinedAttributes } from './up-attributes.ts';

/** Entries that the report names: a line or two to read. The schema of the kind Node has the same limit. */
const sampleMax = 5;

export function quarantinedAttributes(
  reader: Reader,
  consumer: FeedConsumer,
  /** Quarantined items that are not rows of this table. */
  more: readonly Quarantined[] = [],
): { readonly quarantined?: QuarantinedAttributes } {
  const count = consumer.quarantinedCount(reader) + more.length;
  if (count === 0) return {};
  const sample = [...more, ...consumer.quarantined(reader, sampleMax)]
    .slice(0, sampleMax)
    .map(({ key, reason }) => `${key}: ${reason}`);
  return { quarantined: { count, sample } };
}
