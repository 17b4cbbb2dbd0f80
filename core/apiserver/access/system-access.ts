/**
 * Who may do what at this node: follows the roles, bindings and AccessGrants of a space, event by event. The space is the system space of a node, or an embedded cluster, which has no AccessGrants. A change counts from its commit on, for every
 * later request.
 */
import type { AccessGrantObject } from '../../access/access-grant.ts';
import { NodeAuthorizer } from '../../access/authorizer.ts';
import { Rbac } from '../../access/rbac.ts';
import { type ClusterRoleObject, type RbacKind, rbacKindOf, rbacResource } from '../../access/rbac-objects.ts';
import { parseBody } from '../../object/canonical.ts';
import { equalJson } from '../../object/json-value.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Random } from '../../runtime/random.ts';
import { accessGrantResource, isAccessGrant } from '../kinds/access-grant-kind.ts';
import { KeyQueue } from '../lifecycle/key-queue.ts';
import type { Space, WriteAdmission } from '../space.ts';
import type { StorageEvent } from '../storage.ts';
import { checkAccessWrite } from './access-writes.ts';
import { grantFromAbove } from './from-above.ts';
import { seedRoles } from './seed-roles.ts';

export interface SystemAccessPorts {
  readonly space: Space;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The path of the node. */
  readonly path: string;
  /** `access.fromAbove` of the node's configuration. */
  readonly fromAbove: string;
  /** Whether a node above has the space of the source. */
  isServedAbove(source: string): boolean;
  defer(run: () => void): void;
}

const kinds: readonly RbacKind[] = ['ClusterRole', 'Role', 'ClusterRoleBinding', 'RoleBinding'];

export class SystemAccess {
  readonly authorizer: NodeAuthorizer;
  readonly #ports: SystemAccessPorts;
  readonly #rbac = new Rbac();
  /** Names of aggregated ClusterRoles whose objects show outdated rules. */
  readonly #outdated: KeyQueue;
  readonly #unsubscribe: () => void;

  constructor(ports: SystemAccessPorts) {
    const { space, clock, log, path, fromAbove, defer } = ports;
    const { storage } = space;
    this.#ports = ports;
    this.authorizer = new NodeAuthorizer(this.#rbac, path);
    this.#outdated = new KeyQueue({ work: (name) => this.#showRules(name), schedule: defer, clock, logger: log });
    seedRoles(storage, ports);
    for (const kind of kinds) for (const { body } of storage.scan(rbacResource(kind))) this.#put(parseBody(body));
    for (const { body } of storage.scan(accessGrantResource))
      this.authorizer.grants.put(parseBody(body) as AccessGrantObject);
    const ofConfig = grantFromAbove(fromAbove, path);
    if (ofConfig) this.authorizer.grants.put(ofConfig);
    this.#unsubscribe = storage.subscribe((events) => {
      for (const event of events) this.#changed(event);
    });
  }

  readonly admission: WriteAdmission = (request) => {
    const { kinds, storage } = this.#ports.space;
    checkAccessWrite({ ...this.#ports, kinds, storage, authorizer: this.authorizer }, request);
  };

  close(): void {
    this.#unsubscribe();
    this.#outdated.close();
  }

  #changed({ type, object: { key, body } }: StorageEvent): void {
    const kind = rbacKindOf(key);
    if (kind !== undefined) {
      if (type === 'DELETED') this.#markOutdated(this.#rbac.remove(kind, key));
      else this.#put(parseBody(body));
    } else if (isAccessGrant(key)) {
      if (type === 'DELETED') this.authorizer.grants.remove(key.name);
      else this.authorizer.grants.put(parseBody(body) as AccessGrantObject);
    }
  }

  #put(object: Parameters<Rbac['put']>[0]): void {
    this.#markOutdated(this.#rbac.put(object));
  }

  #markOutdated(names: readonly string[]): void {
    for (const name of names) this.#outdated.add(name);
  }

  #showRules(name: string): void {
    const { space } = this.#ports;
    const key = { ...rbacResource('ClusterRole'), namespace: '', name };
    const role = space.get(key) as ClusterRoleObject | undefined;
    const rules = this.#rbac.rulesOfRole({ apiGroup: '', kind: 'ClusterRole', name }, '');
    if (!role?.aggregationRule || !rules || equalJson(role.rules ?? [], rules)) return;
    const { apiVersion, kind } = role;
    space.apply(
      { apiVersion, kind, metadata: { name }, rules: [...rules] },
      { fieldManager: 'clusterrole-aggregation-controller', force: true },
    );
  }
}
