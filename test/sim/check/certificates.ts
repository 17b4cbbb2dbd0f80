/** A session does not outlive the certificates that it began with: after the first of them has expired, a side sends only a Goodbye. */
import type { Check, World } from '../world.ts';

/** The time for frames that were decided in the turn before and have been flushed since. */
const slackMs = 300;

export function certificates(world: World): Check {
  const name = 'a session ends with its certificates';
  /** If the clock was set since, the product notices within the hour. */
  const skews = new WeakMap<object, number>();
  const greetings: ReadonlySet<string> = new Set(['hello', 'welcome', 'retry', 'goodbye']);
  return {
    name,
    sent(connection, from, { frame }) {
      const host = connection.host(from);
      const end = connection.end(from);
      if (!end.expiry) return;
      const skewMs = skews.get(end) ?? host.skewMs;
      skews.set(end, skewMs);
      const lateMs = host.wallMs - end.expiry.atMs;
      if (skewMs !== host.skewMs || lateMs <= slackMs || greetings.has(frame?.$case ?? '')) return;
      world.violation(name, `${host.title} sends ${frame?.$case} ${lateMs} ms after ${end.expiry.words}`);
    },
  };
}
