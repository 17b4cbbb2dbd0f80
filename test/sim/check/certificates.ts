/** A session does not outlive the certificates with which it began: after the first of them has expired, a side sends only a Goodbye. */
import type { Check, World } from '../world.ts';

/** Tolerance for frames that the product decided in the previous turn and has flushed since. */
const slackMs = 300;

export function certificates(world: World): Check {
  const name = 'a session ends with its certificates';
  /** The offset of the clock at the first frame of an end. If somebody has set the clock since, the product notices this within the hour. */
  const skews = new WeakMap<object, number>();
  const handshakeKinds: ReadonlySet<string> = new Set(['hello', 'welcome', 'retry', 'goodbye']);
  return {
    name,
    sent(connection, from, { frame }) {
      const host = connection.host(from);
      const end = connection.end(from);
      if (!end.expiry) return;
      const skewMs = skews.get(end) ?? host.skewMs;
      skews.set(end, skewMs);
      const lateMs = host.wallMs - end.expiry.atMs;
      if (skewMs !== host.skewMs || lateMs <= slackMs || handshakeKinds.has(frame?.$case ?? '')) return;
      world.violation(name, `${host.title} sends ${frame?.$case} ${lateMs} ms after ${end.expiry.words}`);
    },
  };
}
