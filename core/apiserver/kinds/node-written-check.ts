/**
 * Checks writes of users to the objects of mesh.banyan.io that the node itself writes: Space, Node, Mailbox. The mesh reads only few fields that a user writes
 * (`free` in the table below). So the check refuses a change without effect, and names the right place for the change. A user may also create the Node of a relay
 * that will join with a token, delete the Node of a child to remove it, and create and delete Spaces. Everybody may write labels and annotations.
 */

import { nameOf, objectName, parentOf } from '../../identity/node-path.ts';
import { splitReplica } from '../../identity/replica.ts';
import { readBundle } from '../../identity/trusted-authorities.ts';
import { claimsFlaw, type SubtreeClaims } from '../../match/claims.ts';
import { forbiddenField, invalidField } from '../../object/field-error.ts';
import { equalJson, ownField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { WriteAdmission } from '../space.ts';
import { forbidden, invalidObject } from '../status-errors.ts';
import { joinTokenDefinition } from './join-token-kind.ts';
import { meshGroup } from './mesh-kinds.ts';

type Request = Parameters<WriteAdmission>[0];

interface NodeWritten {
  /** Why a user can't create an object of this kind, or can't change a field that the node writes. */
  readonly write: string;
  /** Why a user can't delete an object of this kind. Absent: a user can delete it, and the node writes it again. */
  readonly delete?: string;
  /** True: a user may create an object of this kind. */
  readonly isCreatable?: true;
  /** Fields of spec that a user may write. */
  readonly free: readonly string[];
}

/** The node has written the Space because its configuration names it. */
export const configuredAnnotation = 'banyan.io/configured';

const spaceFields =
  'users may change only labels, annotations, spec.delivery and spec.limits of a Space: to change another field, delete the Space and create it again, without its objects';
const spaceOfConfiguration =
  'the configuration of the node names this space, and would create it again: take it out of `spaces` of the node in the topology (or in its configuration file)';

const nodeWritten: Readonly<Record<string, NodeWritten>> = {
  spaces: { write: spaceFields, isCreatable: true, free: ['delivery', 'limits'] },
  nodes: {
    write:
      'the node writes its Node objects; users may write only labels, annotations, spec.approveHeldDeletions, spec.authorities, spec.claims, spec.quota and spec.hosts',
    free: ['approveHeldDeletions', 'authorities', 'claims', 'quota', 'hosts'],
  },
  mailboxes: {
    write: 'the node writes its Mailbox objects; users may write only labels and annotations',
    delete: 'a mailbox exists as long as its child: delete the SyncTarget of the child, and the mailbox goes with it',
    free: [],
  },
};

const writtenAgain =
  'this node writes the Node object again with the next report about the node; nothing else was deleted';

const removed =
  'this node forgets the child and everything below it, and refuses its key, and for a relay everything that the relay has signed. Objects that were delivered there stay at their clusters';

const configuredAgain =
  'spec.claims and spec.quota of this object are gone: for this child, the configuration of the node decides again';

/** `path` is the path of the node that has the system space. Writes of the node itself have no user, and are accepted. */
export function checkMeshWrite(request: Request, path: string): void {
  if (!request.user || request.key.group !== meshGroup) return;
  if (isAdmission(request, path)) return;
  const rule = ownField(nodeWritten, request.key.resource);
  if (rule) checkNodeWritten(request, rule, path);
  else if (request.key.resource === joinTokenDefinition.spec.names.plural) checkJoinToken(request, path);
}

/** Whether the request creates the Node object of a relay directly below, which a person admits so. */
function isAdmission({ operation, key, object }: Request, above: string): boolean {
  if (operation !== 'create' || key.resource !== 'nodes') return false;
  const { path, role } = (object?.spec ?? {}) as { readonly path?: unknown; readonly role?: unknown };
  if (typeof path !== 'string' || role !== 'Relay' || key.name !== objectName(path)) return false;
  return isChildOf(path, above) && splitReplica(path).replica === 0;
}

function checkNodeWritten(
  { operation, key, object, old, subresource, warn }: Request,
  rule: NodeWritten,
  path: string,
): void {
  if (operation === 'delete') {
    if (rule.delete !== undefined) throw forbidden(key, rule.delete);
    if (key.resource === 'spaces') {
      if (old?.metadata.annotations?.[configuredAnnotation] !== undefined) throw forbidden(key, spaceOfConfiguration);
      return;
    }
    const { claims, quota, path: child = '' } = (old?.spec ?? {}) as ChildSpec;
    if (child !== '' && parentOf(child) === splitReplica(path).name) {
      warn?.(removed);
      return;
    }
    warn?.(writtenAgain);
    if (claims !== undefined || quota !== undefined) warn?.(configuredAgain);
    return;
  }
  if (operation === 'create' && rule.isCreatable) return;
  if (operation === 'create') throw forbidden(key, rule.write);
  const isSame =
    subresource === 'status'
      ? equalJson(object?.status, old?.status)
      : equalJson(withoutFields(object, rule.free), withoutFields(old, rule.free));
  if (!isSame) throw forbidden(key, rule.write);
  if (key.resource === 'nodes' && subresource === undefined && object) checkChild(object, old, path);
}

interface ChildSpec {
  readonly path?: string;
  readonly role?: string;
  readonly authorities?: string;
  readonly claims?: Partial<SubtreeClaims>;
  readonly quota?: object;
}

/** Refuses claims and quotas that no node would read: they count only at the parent, and only relays claim labels. */
function checkChild(object: KubeObject, old: KubeObject | undefined, above: string): void {
  const [spec, before] = [object.spec, old?.spec] as [ChildSpec | undefined, ChildSpec | undefined];
  const { path = '', role, claims } = spec ?? {};
  const isChild = isChildOf(path, above) && splitReplica(nameOf(path)).replica === 0;
  const causes: Cause[] = [];
  const refuse = (field: string, why: string) => causes.push(forbiddenField(`spec.${field}`, why));
  for (const field of ['claims', 'quota'] as const) {
    if (spec?.[field] === undefined || equalJson(spec[field], before?.[field]) || isChild) continue;
    refuse(field, `it counts only at the parent of a node, in the Node object of the node's path: write it there`);
  }
  const authorities = spec?.authorities;
  if (authorities !== undefined && authorities !== before?.authorities) {
    if (path !== '')
      refuse(
        'authorities',
        'the authorities of a tree are those of its center: write it there, into the Node object "center"',
      );
    const read = readBundle(authorities);
    if ('flaw' in read) causes.push(invalidField('spec.authorities', authorities.slice(0, 64), read.flaw));
  }
  if (claims && !equalJson(claims, before?.claims)) {
    if (isChild && role === 'Agent')
      refuse('claims', 'an agent claims no labels: this node has its Location and SyncTarget');
    const flaw = claimsFlaw(claims);
    if (flaw) causes.push(invalidField(`spec.claims.${flaw.path.join('.')}`, claims, flaw.message));
  }
  if (causes.length > 0) throw invalidObject({ group: meshGroup, kind: 'Node' }, object.metadata.name ?? '', causes);
}

/** `above`: the path of a node, with the number of its replica. */
function isChildOf(path: string, above: string): boolean {
  return path !== '' && parentOf(path) === splitReplica(above).name;
}

function withoutFields(object: KubeObject | undefined, free: readonly string[]): Record<string, unknown> {
  const spec = { ...(object?.spec as Record<string, unknown> | undefined) };
  for (const field of free) delete spec[field];
  return spec;
}

/** Refuses a token for a node that is not directly below this node. Such a token could never admit a node. */
function checkJoinToken({ operation, key, object }: Request, above: string): void {
  if (operation !== 'create') return;
  const { path } = (object?.spec ?? {}) as { path?: unknown };
  if (typeof path !== 'string') return;
  if (isChildOf(path, above) && nameOf(path) !== '') return;
  const parent = splitReplica(above).name;
  const example = parent === '' ? 'store-17' : `${parent}:store-17`;
  const why = `this node admits only nodes directly below it, such as ${example}: make the token at the parent of the node`;
  throw invalidObject({ group: meshGroup, kind: 'JoinToken' }, key.name, [invalidField('spec.path', path, why)]);
}
