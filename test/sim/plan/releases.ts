/**
 * Rows that may have been lost, and that are kept until a person approves their deletion. An origin is restored to a time before most of its objects, or a
 * relay loses places that only it knew. The missing rows exceed the budget of deletions, so all of them are held.
 */
import { seedOf } from '../seeds.ts';
import type { Labels, PlannedObject, PlannedPlacement, Step } from './action.ts';
import { Chance } from './chance.ts';
import { lostOriginOf } from './faults.ts';
import { isChildOf, type PlannedNode, parentOf, sourceOf } from './tree.ts';

interface Losses {
  readonly steps: Step[];
  /** Whether rows are held at the end that nobody has approved yet. */
  readonly holds: boolean;
  readonly forgets: boolean;
}

/** The number of objects: more than the 50 rows that may be deleted at once, and more than a fifth of all rows. */
const many = 60;
const none: Losses = { steps: [], holds: false, forgets: false };

export function lossesOf(seed: number, nodes: readonly PlannedNode[]): Losses {
  const chance = new Chance(seedOf(seed, 'losses'));
  const at = chance.fraction();
  if (at < 0.006) return { steps: originOf(chance), holds: true, forgets: true };
  if (at < 0.012) return { steps: relayOf(chance, nodes), holds: true, forgets: false };
  return none;
}

/** A person at the node `at` approves the rows that the node shows as held. */
function releaseOf(node: string, at = ''): Step['action'] {
  return { do: 'release', node, at };
}

function originOf(chance: Chance): Step[] {
  const source = 'center.retail';
  const lost = lostOriginOf(chance, { path: '', role: 'center', labels: {}, spaces: [] });
  const backupMs = lost[0]!.atMs;
  // The second end is 3 s after the backup, and the next start is at most 2 s after that end.
  return [
    { atMs: 1_000, action: { do: 'place', source, placement: placementOf(source) } },
    ...putsOf(source, backupMs + 5_100, 20),
    ...lost,
  ];
}

/** A relay loses places. Somebody has written their objects into the relay's inventory by hand, so the topology does not have them. */
function relayOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  const relays = nodes.filter(({ role, spaces, replicas }) => role === 'relay' && spaces.length === 0 && !replicas);
  const agents = nodes.filter(
    ({ role, path }) => role === 'agent' && relays.some((relay) => isChildOf({ path }, relay.path)),
  );
  if (agents.length === 0) return [];
  const { path: agent } = chance.of(agents);
  const relay = parentOf(agent);
  const source = sourceOf(nodes[0]!, 'retail');
  const labels: Labels = { env: 'stage' };
  const emptyMs = 9_000 + chance.below(5_000);
  const steps: Step[] = [
    { atMs: 1_000, action: { do: 'place', source, placement: placementOf(source, labels) } },
    { atMs: 2_000, action: { do: 'label', node: agent, labels } },
    ...putsOf(source, 2_500, 10),
    { atMs: emptyMs, action: { do: 'empty', node: relay } },
  ];
  // The relay gets the place again, or a person approves, or nothing happens.
  if (chance.is(0.4)) steps.push({ atMs: emptyMs + 12_000, action: { do: 'label', node: agent, labels } });
  else if (chance.is(0.5)) steps.push({ atMs: emptyMs + 12_000, action: releaseOf(relay, parentOf(relay)) });
  return steps;
}

export function putsOf(source: string, fromMs: number, everyMs: number): Step[] {
  return Array.from({ length: many }, (_, i): Step => {
    const name = `many${i}`;
    const object: PlannedObject = {
      kind: 'ConfigMap',
      namespace: namespaceOf(source),
      name,
      value: `v${i}`,
      labels: {},
    };
    return { atMs: fromMs + i * everyMs, action: { do: 'put', source, object } };
  });
}

function namespaceOf(source: string): string {
  return `w-${source.replaceAll('.', '-')}-many`;
}

export function placementOf(source: string, labels?: Labels): PlannedPlacement {
  const selectors = [labels ? { matchLabels: labels } : {}];
  return { name: 'many', selectors, namespaces: [namespaceOf(source)], resources: ['configmaps'] };
}
