/**
 * Objects that a space keeps and nobody acts on. In a cluster a NetworkPolicy filters and a Role gives rights; the system space and an inventory space
 * run no such controllers, and deliver nothing to a cluster that does. Whoever writes such an object is told so. In a workload space objects are for the
 * clusters that they are sent to, where they have their effect.
 */
import type { Kind, WriteAdmission } from '../space.ts';
import { edgeGroup } from './edge-kinds.ts';
import type { SpaceType } from './kinds-of-space.ts';

type Request = Parameters<WriteAdmission>[0];

/** Built-in kinds that do there what they do in a cluster: they hold data for whoever reads them, or make other objects possible. */
const effective: ReadonlySet<string> = new Set([
  '/configmaps',
  '/events',
  '/namespaces',
  '/secrets',
  'apiextensions.k8s.io/customresourcedefinitions',
  'coordination.k8s.io/leases',
  'events.k8s.io/events',
]);

const rbac =
  'who has a client certificate of the tree in the group system:masters may do everything at a node, nobody else anything';
const elsewhere = 'apply it in a workload space, with an EdgePlacement, to have it at edge clusters';

/** Kinds of edge.banyan.io that nodes make of placements, for people to read. */
const results: ReadonlySet<string> = new Set(['singleplacementslices', 'statussummaries']);

/** Deletions and status need no warning; nor do writes by the node itself. */
export function warnOfNoEffect(request: Request, kind: Kind | undefined, type: SpaceType): void {
  const { operation, key, user, subresource, warn } = request;
  if (!kind || !user || operation === 'delete' || subresource !== undefined) return;
  if (type === 'Workload' && key.group === edgeGroup && results.has(key.resource)) {
    warn?.(`a ${kind.kind} is what nodes make of placements for people to read: nobody reads one that others write`);
  }
  if ((type !== 'System' && type !== 'Inventory') || kind.custom || effective.has(`${key.group}/${key.resource}`))
    return;
  const space = type === 'System' ? "a node's system space" : 'an inventory space';
  const why = key.group === 'rbac.authorization.k8s.io' ? rbac : elsewhere;
  warn?.(`a ${kind.kind} has no effect in ${space}: ${why}`);
}
