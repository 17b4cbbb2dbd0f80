/** The attribute of a node's report about its quarantined entries. */
import type { FeedConsumer } from '../feed/consumer.ts';
import type { Quarantined } from '../feed/quarantine.ts';
import type { Reader } from '../store/store.ts';
import type { QuarantinedAttributes } from './up-attributes.ts';

/** Enough for a line or two for a person; the kind Node takes as many. */
const sampleMax = 5;

export function quarantinedAttributes(
  reader: Reader,
  consumer: FeedConsumer,
  /** Quarantined items besides the rows of the table. */
  more: readonly Quarantined[] = [],
): { readonly quarantined?: QuarantinedAttributes } {
  const count = consumer.quarantinedCount(reader) + more.length;
  if (count === 0) return {};
  const sample = [...more, ...consumer.quarantined(reader, sampleMax)]
    .slice(0, sampleMax)
    .map(({ key, reason }) => `${key}: ${reason}`);
  return { quarantined: { count, sample } };
}
