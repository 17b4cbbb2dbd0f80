/** Moments at which one session replaces another, or at which a session must not begin. These moments are short, so the plan makes them on purpose. */
import { type Action, type PlannedObject, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { nodeOfSource, type PlannedNode, parentOf } from './tree.ts';

/** Writes during these moments, so that sessions have data to send. */
export interface Traffic {
  readonly source: string;
  readonly objects: readonly PlannedObject[];
}

/**
 * A child closes its connection while its frames travel slowly to its parent, and connects again before they arrive. The parent's disk is slow to store the
 * new session. So frames of the old session arrive after the new session is stored.
 */
export function takeoverOf(chance: Chance, nodes: readonly PlannedNode[], traffic: Traffic): Step[] {
  const { path: node } = chance.of(
    nodes.filter(({ path }) => path !== '' && isBelow(path, nodeOfSource(traffic.source))),
  );
  const beginMs = 2_000 + chance.below(spanMs - 10_000);
  const hangsUpMs = beginMs + 300 + chance.below(900);
  const at = (atMs: number, action: Action): Step => ({ atMs, action });
  const parent = parentOf(node);
  return [
    at(beginMs, { do: 'slow', node, delayMaxMs: 2_500, bufferBytes: 256 * 1024 }),
    at(beginMs, { do: 'drag', node: parent, flushMs: 400 + chance.below(600) }),
    ...writes(traffic, beginMs + 10, 90),
    at(hangsUpMs, { do: 'mend', node }),
    at(hangsUpMs, { do: 'hangup', node }),
    at(beginMs + 6_000, { do: 'drag', node: parent, flushMs: 0 }),
  ];
}

/** An agent is removed from the inventory while its parent's disk stores the agent's attachment, and is added again shortly afterwards. */
export function unlistingOf(chance: Chance, nodes: readonly PlannedNode[], traffic: Traffic): Step[] {
  const { path: node } = chance.of(nodes.filter(({ role }) => role === 'agent'));
  const beginMs = 2_000 + chance.below(spanMs - 12_000);
  const at = (atMs: number, action: Action): Step => ({ atMs, action });
  const parent = parentOf(node);
  const unlistedMs = beginMs + 200 + chance.below(800);
  return [
    at(beginMs, { do: 'drag', node: parent, flushMs: 500 + chance.below(500) }),
    at(beginMs + 20, { do: 'hangup', node }),
    at(unlistedMs, { do: 'unlist', node }),
    at(beginMs + 3_000, { do: 'drag', node: parent, flushMs: 0 }),
    at(unlistedMs + 200 + chance.below(6_000), { do: 'list', node }),
    ...writes(traffic, unlistedMs + 300, 200),
  ];
}

function writes({ source, objects }: Traffic, fromMs: number, everyMs: number): Step[] {
  return objects.map((object, i) => ({ atMs: fromMs + i * everyMs, action: { do: 'put', source, object } }));
}

function isBelow(path: string, above: string): boolean {
  return above === '' || path.startsWith(`${above}:`);
}
