/**
 * Warns about objects that a space stores although nobody acts on them. In a cluster, a NetworkPolicy filters traffic and a Role gives rights. The system
 * space and an inventory space have no controllers for such objects, and do not send them to a cluster. So the author of such an object gets a warning.
 * Objects of a workload space take effect at the clusters to which they are sent.
 */
import type { Kind, SpaceType, WriteAdmission } from '../space.ts';
import { edgeGroup } from './edge-placement.ts';

type Request = Parameters<WriteAdmission>[0];

/** Built-in kinds that have the same effect in these spaces as in a cluster: they hold data for readers, or other objects need them. */
const effective: ReadonlySet<string> = new Set([
  '/configmaps',
  '/events',
  '/namespaces',
  '/secrets',
  'apiextensions.k8s.io/customresourcedefinitions',
  'coordination.k8s.io/leases',
  'events.k8s.io/events',
]);

/** Built-in kinds that have an effect only in the system space of a node: their tokens and certificates sign in at the node. */
const inSystem: ReadonlySet<string> = new Set(['/serviceaccounts', 'certificates.k8s.io/certificatesigningrequests']);

const rbac = 'only the system space of the node decides about access at the node; apply it there, or an AccessGrant';
const elsewhere = 'apply it in a workload space, with an EdgePlacement, to have it at edge clusters';

/** Kinds of edge.banyan.io that contain results for people. Nodes write them, from placements. */
const results: ReadonlySet<string> = new Set(['singleplacementslices', 'statussummaries']);

/** Warns about a write without effect. Gives no warning for deletions, for writes of status, and for writes of the node itself. */
export function warnOfNoEffect(request: Request, kind: Kind | undefined, type: SpaceType): void {
  const { operation, key, user, subresource, warn } = request;
  if (!kind || !user || operation === 'delete' || subresource !== undefined) return;
  if (type === 'Workload' && key.group === edgeGroup && results.has(key.resource)) {
    warn?.(
      `nodes write a ${kind.kind} from a placement, as a result for people; an object that somebody else writes has no effect`,
    );
  }
  const resource = `${key.group}/${key.resource}`;
  if ((type !== 'System' && type !== 'Inventory') || kind.custom || effective.has(resource)) return;
  const isRbac = key.group === 'rbac.authorization.k8s.io';
  if (type === 'System' && (isRbac || inSystem.has(resource))) return;
  const space = type === 'System' ? "a node's system space" : 'an inventory space';
  const why = isRbac ? rbac : elsewhere;
  warn?.(`a ${kind.kind} has no effect in ${space}: ${why}`);
}
