/** A session does not outlive the certificates that it began with: nothing but a goodbye is said when the first of them is over. */
import type { Check, World } from '../world.ts';

/** What was decided in the turn before, and flushed since. */
const slackMs = 300;

export function certificates(world: World): Check {
  const name = 'a session ends with its certificates';
  /** Of a clock that was set since, the product knows within the hour. */
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
