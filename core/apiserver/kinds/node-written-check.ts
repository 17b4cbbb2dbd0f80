/**
 * Objects of mesh.banyan.io that the node writes: Space, Node, Mailbox. Nothing in the mesh reads what a person writes there, but for `spec.approveHeldDeletions` of a Node:
 * so a person's write that would have no effect is refused, in words that say where the wish belongs. Labels and annotations are everybody's.
 */

import { nameOf, parentOf } from '../../identity/node-path.ts';
import { splitReplica } from '../../identity/replica.ts';
import { invalidField } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { WriteAdmission } from '../space.ts';
import { forbidden, invalidObject } from '../status-errors.ts';
import { joinTokenDefinition } from './join-token-kind.ts';
import { meshGroup } from './mesh-kinds.ts';

type Request = Parameters<WriteAdmission>[0];

interface NodeWritten {
  /** Why a person can not make one, or change what the node writes. */
  readonly write: string;
  /** Why a person can not delete one; absent: the object goes, and the node writes it again. */
  readonly delete?: string;
  /** Fields of spec that are a person's. */
  readonly free: readonly string[];
}

const configured =
  'the spaces of a node are those of its configuration: change `spaces` of the node in the topology (or in the configuration file of the node) and start the node again';

const nodeWritten: Readonly<Record<string, NodeWritten>> = {
  spaces: { write: configured, delete: configured, free: [] },
  nodes: {
    write:
      'the node writes its Node objects; labels, annotations and spec.approveHeldDeletions are all that others write in one',
    free: ['approveHeldDeletions'],
  },
  mailboxes: {
    write: 'the node writes its Mailbox objects; labels and annotations are all that others write in one',
    delete: 'a mailbox is there as long as its child: delete the SyncTarget of the child, and the mailbox goes with it',
    free: [],
  },
};

const writtenAgain =
  'the node writes this Node object again when it hears of the node the next time; nothing else was deleted';

/** `path`: of the node that has the system space. The node itself comes without a user. */
export function checkMeshWrite(request: Request, path: string): void {
  if (!request.user || request.key.group !== meshGroup) return;
  const rule = nodeWritten[request.key.resource];
  if (rule) checkNodeWritten(request, rule);
  else if (request.key.resource === joinTokenDefinition.spec.names.plural) checkJoinToken(request, path);
}

function checkNodeWritten({ operation, key, object, old, subresource, warn }: Request, rule: NodeWritten): void {
  if (operation === 'delete') {
    if (rule.delete !== undefined) throw forbidden(key, rule.delete);
    warn?.(writtenAgain);
    return;
  }
  if (operation === 'create') throw forbidden(key, rule.write);
  const isSame =
    subresource === 'status'
      ? equalJson(object?.status, old?.status)
      : equalJson(withoutFields(object, rule.free), withoutFields(old, rule.free));
  if (!isSame) throw forbidden(key, rule.write);
}

function withoutFields(object: KubeObject | undefined, free: readonly string[]): Record<string, unknown> {
  const spec = { ...(object?.spec as Record<string, unknown> | undefined) };
  for (const field of free) delete spec[field];
  return spec;
}

/** A token for a place that is not right below this node would never admit anybody. */
function checkJoinToken({ operation, key, object }: Request, above: string): void {
  if (operation !== 'create') return;
  const { path } = (object?.spec ?? {}) as { path?: unknown };
  if (typeof path !== 'string') return;
  const own = splitReplica(above).name;
  if (path !== '' && parentOf(path) === own && nameOf(path) !== '') return;
  const right = own === '' ? 'store-17' : `${own}:store-17`;
  const why = `this node admits agents right below it only, such as ${right}: make the token at the parent of the agent`;
  throw invalidObject({ group: meshGroup, kind: 'JoinToken' }, key.name, [invalidField('spec.path', path, why)]);
}
