/**
 * The records that a relay which has moved still has under its former path: Node objects of the nodes below it, and its records about their sessions. Children come with new
 * paths and new certificates. What people wrote into the Node object of a child stays valid for the child.
 */
import { nodeResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { isBelow, objectName } from '../../core/identity/node-path.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { concat, text } from '../../core/store/bytes.ts';
import { type Keyspace, prefixOf } from '../../core/store/keyspace.ts';
import { removePrefix } from '../../core/store/remove-prefix.ts';
import type { Transaction } from '../../core/store/store.ts';

/** Records by path. New reports and sessions make them again. */
const recordsByPath: readonly Keyspace[] = ['descendant', 'session', 'admittedKey'];

export function forgetRecordsOf(t: Transaction, former: string): void {
  for (const space of recordsByPath) {
    removePrefix(t, concat(prefixOf(space), text(`${former}:`)));
  }
  t.remove(prefixOf('acknowledgedLabelSummary'));
}

/** Gives the Node objects of the nodes below their new names and paths. */
export function renameNodes(system: Space, former: string, path: string): void {
  for (const stored of [...system.storage.scan(nodeResource)]) {
    const node = system.parse(stored);
    const spec = node.spec as { readonly path?: string };
    if (spec.path !== former && !isBelow(spec.path ?? '', former)) continue;
    const moved = `${path}${spec.path!.slice(former.length)}`;
    const { apiVersion, kind } = node;
    const renamed: KubeObject = {
      apiVersion,
      kind,
      metadata: { name: objectName(moved) },
      spec: { ...spec, path: moved },
    };
    if (!system.get(system.keyOf(renamed))) system.create(renamed);
    system.delete(stored.key);
  }
}
