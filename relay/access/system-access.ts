/**
 * Who may do what at this node: follows the roles, bindings and AccessGrants of the system space, event by event. A change counts from its commit on, for every
 * later request.
 */
import type { AccessGrantObject } from '../../core/access/access-grant.ts';
import { NodeAuthorizer } from '../../core/access/authorizer.ts';
import { Rbac } from '../../core/access/rbac.ts';
import { type ClusterRoleObject, type RbacKind, rbacKindOf, rbacResource } from '../../core/access/rbac-objects.ts';
import { accessGrantResource, isAccessGrant } from '../../core/apiserver/kinds/access-grant-kind.ts';
import { KeyQueue } from '../../core/apiserver/lifecycle/key-queue.ts';
import type { Space, WriteAdmission } from '../../core/apiserver/space.ts';
import type { StorageEvent } from '../../core/apiserver/storage.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { checkAccessWrite } from './access-writes.ts';
import { seedRoles } from './seed-roles.ts';

export interface SystemAccessPorts {
  readonly space: Space;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The path of the node. */
  readonly path: string;
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
    const { space, clock, log, path, defer } = ports;
    const { storage } = space;
    this.#ports = ports;
    this.authorizer = new NodeAuthorizer(this.#rbac, path);
    this.#outdated = new KeyQueue({ work: (name) => this.#showRules(name), schedule: defer, clock, logger: log });
    seedRoles(storage, ports);
    for (const kind of kinds) for (const { body } of storage.scan(rbacResource(kind))) this.#put(parseBody(body));
    for (const { body } of storage.scan(accessGrantResource))
      this.authorizer.grants.put(parseBody(body) as AccessGrantObject);
    this.#unsubscribe = storage.subscribe((events) => {
      for (const event of events) this.#changed(event);
    });
  }

  readonly admission: WriteAdmission = (request) => {
    const { space, path } = this.#ports;
    checkAccessWrite({ kinds: space.kinds, authorizer: this.authorizer, path }, request);
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
    space.update({ ...role, rules: [...rules] });
  }
}
