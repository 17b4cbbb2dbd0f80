/** What a node tells of the entries that it has quarantined. */
import type { FeedConsumer } from '../feed/consumer.ts';
import type { Reader } from '../store/store.ts';
import type { QuarantinedAttributes } from './entry-attributes.ts';

/** A line or two for a person; as many as the kind Node takes. */
const sampleMax = 5;

export function quarantinedAttributes(
  reader: Reader,
  consumer: FeedConsumer,
): { readonly quarantined?: QuarantinedAttributes } {
  const count = consumer.quarantinedCount(reader);
  if (count === 0) return {};
  const sample = consumer.quarantined(reader, sampleMax).map(({ key, reason }) => `${key}: ${reason}`);
  return { quarantined: { count, sample } };
}
