/**
 * What is kept because it may have been lost, and goes when a person has said so: an origin that is put back to before most of what it has, and a relay that lost
 * what only it knew of the places below it. More is missing than the budget of deletions, so all of it is held.
 */
import { seedOf } from '../seeds.ts';
import type { Labels, PlannedObject, PlannedPlacement, Step } from './action.ts';
import { Chance } from './chance.ts';
import { lostOriginOf } from './faults.ts';
import { isChildOf, type PlannedNode, parentOf, sourceOf } from './tree.ts';

interface Losses {
  readonly steps: Step[];
  /** Something is held in the end that nobody has released yet. */
  readonly holds: boolean;
  readonly forgets: boolean;
}

/** More than the 50 that may go at once, and more than a fifth of what is there. */
const many = 60;
const none: Losses = { steps: [], holds: false, forgets: false };

export function lossesOf(seed: number, nodes: readonly PlannedNode[]): Losses {
  const chance = new Chance(seedOf(seed, 'losses'));
  const at = chance.fraction();
  if (at < 0.006) return { steps: originOf(chance), holds: true, forgets: true };
  if (at < 0.012) return { steps: relayOf(chance, nodes), holds: true, forgets: false };
  return none;
}

/** A person releases what the center shows. */
function releaseOf(node: string, at = ''): Step['action'] {
  return { do: 'release', node, at };
}

function originOf(chance: Chance): Step[] {
  const source = 'center.retail';
  const lost = lostOriginOf(chance, { path: '', role: 'center', labels: {}, spaces: [] });
  const backupMs = lost[0]!.atMs;
  // The second of its ends is 3 s behind the backup, and the next start 2 s behind that at most.
  return [
    { atMs: 1_000, action: { do: 'place', source, placement: placementOf(source) } },
    ...putsOf(source, backupMs + 5_100, 20),
    ...lost,
  ];
}

/** What somebody has written into the inventory of a relay by hand is not in its topology. */
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
  // It is told of the place again, or of nothing.
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
