/**
 * The ServiceAccounts of a system space that have the ClusterRole `banyan:metrics`, by ClusterRoleBindings that name them. The nodes below take their tokens for
 * metrics.
 */
import type { BindingObject } from '../../access/rbac-objects.ts';
import { rbacResource } from '../../access/rbac-objects.ts';
import { metricsRole } from '../../access/subjects.ts';
import { type MetricsIssuer, metricsAccountsMax } from '../../authentication/metrics-tokens.ts';
import type { TokenKeys } from '../../authentication/token-key.ts';
import { parseBody } from '../../object/canonical.ts';
import { equalJson } from '../../object/json-value.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Space } from '../space.ts';
import { scanPages } from '../storage/scan-pages.ts';
import type { StorageEvent } from '../storage.ts';

export interface MetricsAccountsPorts {
  readonly space: Space;
  readonly log: Logger;
  /** The path of the node. */
  readonly path: string;
  /** Called when there is an account for the first time: the node may make its key. */
  keys(): TokenKeys;
  defer(run: () => void): void;
  /** Called in a later turn when `issuers` returns something else than before. */
  changed(): void;
}

const bindings = rbacResource('ClusterRoleBinding');
const accounts = { group: '', resource: 'serviceaccounts' } as const;

interface Named {
  readonly namespace: string;
  readonly name: string;
}

export class MetricsAccounts {
  readonly #ports: MetricsAccountsPorts;
  /** The accounts that each binding names, by the name of the binding. */
  readonly #bound = new Map<string, readonly Named[]>();
  readonly #unsubscribe: () => void;
  #above: readonly MetricsIssuer[] = [];
  #own: MetricsIssuer | undefined;
  #all: readonly MetricsIssuer[] = [];
  #isDeferred = false;

  constructor(ports: MetricsAccountsPorts) {
    this.#ports = ports;
    const { storage } = ports.space;
    for (const { body } of scanPages(storage, bindings)) this.#bind(parseBody(body) as BindingObject);
    this.#refresh();
    this.#unsubscribe = storage.subscribe((events) => {
      if (events.filter((event) => this.#note(event)).length > 0) this.#refreshLater();
    });
  }

  /** The nodes whose tokens for metrics the nodes below take: those above, and this one. The same list until a change. */
  issuers(): readonly MetricsIssuer[] {
    return this.#all;
  }

  /** The nodes above, in the order of the parent. */
  setAbove(issuers: readonly MetricsIssuer[]): void {
    this.#above = issuers;
    this.#join();
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Whether the event may change the accounts. */
  #note({ type, object: { key, body } }: StorageEvent): boolean {
    if (key.group === bindings.group && key.resource === bindings.resource) {
      const had = this.#bound.delete(key.name);
      if (type === 'DELETED') return had;
      return this.#bind(parseBody(body) as BindingObject) || had;
    }
    if (key.group !== '' || key.resource !== accounts.resource) return false;
    return this.#named().some(({ namespace, name }) => namespace === key.namespace && name === key.name);
  }

  #bind({ metadata, roleRef, subjects }: BindingObject): boolean {
    if (roleRef.kind !== 'ClusterRole' || roleRef.name !== metricsRole) return false;
    const named = (subjects ?? []).flatMap(({ kind, name, namespace }) =>
      kind === 'ServiceAccount' && namespace ? [{ name, namespace }] : [],
    );
    this.#bound.set(metadata.name!, named);
    return true;
  }

  #named(): Named[] {
    return [...this.#bound.values()].flat();
  }

  #refreshLater(): void {
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    this.#ports.defer(() => {
      this.#isDeferred = false;
      if (this.#refresh()) this.#ports.changed();
    });
  }

  /** Returns whether the accounts have changed. */
  #refresh(): boolean {
    const { space, path, keys } = this.#ports;
    const living = new Map<string, MetricsIssuer['accounts'][number]>();
    for (const { namespace, name } of this.#named()) {
      const uid = space.get({ ...accounts, namespace, name })?.metadata.uid;
      if (uid) living.set(`${namespace}/${name}`, { namespace, name, uid });
    }
    const sorted = [...living].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, account]) => account);
    this.#warnOfMore(sorted.length);
    const found = sorted.slice(0, metricsAccountsMax);
    if (equalJson(found, this.#own?.accounts ?? [])) return false;
    this.#own = found.length === 0 ? undefined : { path, keys: keys().accepted.map(shownKey), accounts: found };
    this.#join();
    return true;
  }

  #warnOfMore(count: number): void {
    if (count <= metricsAccountsMax) return;
    this.#ports.log.warn(
      { count, max: metricsAccountsMax },
      `more ServiceAccounts have the ClusterRole ${metricsRole} than nodes below take tokens of: the last ones by name read only the metrics of this node`,
    );
  }

  #join(): void {
    this.#all = [...this.#above, ...(this.#own ? [this.#own] : [])];
  }
}

function shownKey({ id, publicKey }: TokenKeys['signing']): MetricsIssuer['keys'][number] {
  return { id, spki: publicKey.export({ type: 'spki', format: 'der' }).toString('base64') };
}
