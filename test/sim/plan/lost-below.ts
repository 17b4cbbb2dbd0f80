/**
 * A relay loses its store and attaches to another replica of its parent than before. That replica has not received a recent deletion. Only the children of the relay
 * have received it.
 */
import { withReplica } from '../../../core/identity/replica.ts';
import type { PlannedObject, Step } from './action.ts';
import type { Chance } from './chance.ts';
import { isChildOf, type PlannedNode, parentOf, severalOf, sourcesAbove } from './tree.ts';

export function lostBelowOf(chance: Chance, nodes: readonly PlannedNode[], sources: readonly string[]): Step[] {
  const several = severalOf(nodes);
  const losable = nodes.filter(({ path, role, spaces }) => {
    const hasChildren = nodes.some((other) => isChildOf(other, path));
    return role === 'relay' && spaces.length === 0 && hasChildren && several.has(parentOf(path));
  });
  if (losable.length === 0 || !chance.is(0.6)) return [];
  const { path: node } = chance.of(losable);
  const parent = parentOf(node);
  const source = chance.of(sourcesAbove(sources, parent));
  const namespace = `w-${source.replaceAll('.', '-')}-late`;
  const object: PlannedObject = { kind: 'ConfigMap', namespace, name: 'late', value: 'v1', labels: {} };
  const placement = { name: 'late', selectors: [{}], namespaces: [namespace], resources: ['configmaps'] };
  const way = chance.below(several.get(parent)!);
  const late = withReplica(parent, way);
  const atMs = 14_000 + chance.below(20_000);
  const slow = { do: 'slow', delayMaxMs: 2_000 + chance.below(3_000), bufferBytes: 256 } as const;
  return [
    { atMs: atMs - 12_000, action: { do: 'place', source, placement } },
    { atMs: atMs - 12_000, action: { do: 'put', source, object } },
    // The line is cut, so that the relay is at another replica when the deletion arrives.
    { atMs: atMs - 8_000, action: { do: 'cut', node, way } },
    { atMs: atMs - 50, action: { ...slow, node: late } },
    { atMs, action: { do: 'delete', source, object } },
    { atMs: atMs + 300, action: { do: 'mend', node, way } },
    { atMs: atMs + 400 + chance.below(600), action: { do: 'empty', node } },
    { atMs: atMs + 8_000, action: { do: 'mend', node: late } },
  ];
}
