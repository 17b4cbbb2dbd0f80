/** Checks writes of roles, bindings and AccessGrants in the system space: their fields, and that nobody gives away more than they have. */
import { type AccessGrantObject, checkAccessGrant } from '../../access/access-grant.ts';
import type { NodeAuthorizer } from '../../access/authorizer.ts';
import { checkRbacWrite } from '../../access/escalation.ts';
import { checkGrantedRole, checkGrantWrite } from '../../access/grant-escalation.ts';
import { rbacKindOf } from '../../access/rbac-objects.ts';
import { fillSubjectDefaults } from '../../access/validation.ts';
import { type KubeObject, parseApiVersion } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isAccessGrant } from '../kinds/access-grant-kind.ts';
import type { Kind, Kinds, WriteAdmission } from '../space.ts';
import { invalidObject } from '../status-errors.ts';
import { type GrantWarningPorts, grantWarnings } from './grant-warnings.ts';

type Request = Parameters<WriteAdmission>[0];

export interface AccessWritePorts extends GrantWarningPorts {
  readonly kinds: Kinds;
  readonly authorizer: NodeAuthorizer;
}

/** Writes of the node itself have no user, and may give any right. */
export function checkAccessWrite(ports: AccessWritePorts, request: Request): void {
  const { operation, key, object, old, subresource } = request;
  const isGrant = isAccessGrant(key);
  if ((!isGrant && rbacKindOf(key) === undefined) || !object || operation === 'delete' || subresource !== undefined)
    return;
  const kind = ports.kinds.byResource(key);
  // The checks expect fields of the right types. If a field has a wrong type, the space reports this after admission, and refuses the write.
  if (!kind || kind.rules.validate(object, parseApiVersion(object.apiVersion).version, old).length > 0) return;
  if (isGrant) grant(ports, kind, request, object as AccessGrantObject);
  else role(ports, request, object);
}

function grant(ports: AccessWritePorts, kind: Kind, { user, old, warn }: Request, object: AccessGrantObject): void {
  const { authorizer, path } = ports;
  refuse(kind, object, checkAccessGrant(object, path));
  if (!user) return;
  checkGrantWrite(authorizer, { user, object, ...(old ? { old: old as AccessGrantObject } : {}) });
  if (warn) for (const text of grantWarnings(ports, object)) warn(text);
}

function role({ authorizer }: AccessWritePorts, { operation, user, key, old }: Request, object: KubeObject): void {
  fillSubjectDefaults(object);
  if (!user) return;
  const write = { user, object, requestName: operation === 'create' ? '' : key.name, ...(old ? { old } : {}) };
  checkRbacWrite(authorizer.rights, write);
  if (object.kind === 'ClusterRole') checkGrantedRole(authorizer, write);
}

function refuse(kind: Kind, object: KubeObject, causes: readonly Cause[]): void {
  if (causes.length > 0) throw invalidObject(kind, object.metadata.name ?? '', causes);
}
