/**
 * The steps by which a supervisor turns the processes of a running tree into those of another tree. Only nodes whose configuration differs are touched; a node that can
 * take the difference while it runs is not restarted.
 */
import { differentFields, isLive } from '../../relay/config/live-config.ts';

/** `reconfigure`: the node reads its configuration again, and keeps its sessions. */
export interface ProcessStep {
  readonly do: 'stop' | 'start' | 'restart' | 'reconfigure';
  readonly id: string;
}

/**
 * Both maps are keyed by the id of the node, parents before their children. First, nodes end that the new tree does not have, children before their parents: so
 * no node reports the end of its parent as a problem. Then the other nodes follow, parents before their children: a parent knows a new child before the child
 * comes.
 */
export function processSteps(
  before: ReadonlyMap<string, object>,
  after: ReadonlyMap<string, object>,
): readonly ProcessStep[] {
  const gone = [...before.keys()].filter((id) => !after.has(id)).reverse();
  const others = [...after].flatMap(([id, config]): ProcessStep[] => {
    const former = before.get(id);
    if (!former) return [{ do: 'start', id }];
    const fields = differentFields(former, config);
    if (fields.length === 0) return [];
    return [{ do: isLive(fields) ? 'reconfigure' : 'restart', id }];
  });
  return [...gone.map((id): ProcessStep => ({ do: 'stop', id })), ...others];
}
