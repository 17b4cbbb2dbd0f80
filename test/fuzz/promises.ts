/** The promises that hold whatever a peer sends. */
import { OneSide, type Side } from '../support/one-side.ts';
import type { Conversation } from './mutate.ts';

/** One conversation brings a few rows at most; more rows than its entries would be invented. */
const rowsMax = 64;
/** The frames of a side are bounded by the requests to it: its own feed, and an answer or two to each frame. */
const sentMax = 80;

/** A message that names the broken promise. */
export async function broken(side: Side, frames: Conversation): Promise<string | undefined> {
  const one = new OneSide(side);
  const { pair } = one;
  const own = side === 'parent' ? pair.parent : pair.child;
  const head = () => own.store.read((reader) => own.producer.head(reader));
  const digest = () =>
    own.store.read((reader) => JSON.stringify(own.producer.digest(reader), (_key, value) => String(value)));
  const [headBefore, digestBefore] = [head(), digest()];
  try {
    for (const frame of frames) await one.receive(frame);
    await pair.run(50);
  } catch (error) {
    return `an error that is none of the protocol: ${error instanceof Error ? error.stack : String(error)}`;
  }
  if (head() !== headBefore || digest() !== digestBefore) return 'the rows that it produces are others';
  const rows = own.store.read((reader) => [...own.consumer.rows(reader)].length);
  if (rows > rowsMax) return `it has ${rows} rows of its peer`;
  if (one.link.sent.length > sentMax) return `it has said ${one.link.sent.length} frames to ${frames.length}`;
  if (one.link.closed !== undefined && one.outcome === 'goes on')
    return `it hung up ("${one.link.closed}") and counted nothing`;
  return undefined;
}
