/** Which nodes of a starting tree are up, and which are not yet. */
import { shownPath } from '../../core/identity/node-path.ts';
import type { Clock } from '../../core/runtime/clock.ts';

/** Nodes in one line. */
const namedMax = 5;
/** Least time between two lines: a tree of a hundred nodes would otherwise fill the screen. */
const quietMs = 1_000;

/** `waiting`: the ids of the nodes that are not ready, with the reasons. */
export function progressLine(waiting: ReadonlyMap<string, string>, total: number): string {
  const ids = [...waiting.keys()].map(shownPath);
  const more = ids.length > namedMax ? `, and ${ids.length - namedMax} more` : '';
  return `${total - ids.length} of ${total} nodes are up; not yet: ${ids.slice(0, namedMax).join(', ')}${more}`;
}

/** Returns the function that hears about waiting nodes, and prints a line when their number has changed. */
export function progressReporter(
  total: number,
  clock: Clock,
  print: (line: string) => void,
): (waiting: ReadonlyMap<string, string>) => void {
  let last = { count: total, atMs: clock.monotonicMs() };
  return (waiting) => {
    const nowMs = clock.monotonicMs();
    if (waiting.size === 0 || waiting.size === last.count || nowMs - last.atMs < quietMs) return;
    last = { count: waiting.size, atMs: nowMs };
    print(progressLine(waiting, total));
  };
}
