/** All spaces of one node: the system space with its inventory, and the workload and inventory spaces that the configuration names. */

import type { Authorizer } from '../../core/access/authorizer.ts';
import type { AccessPlace } from '../../core/access/grant-scope.ts';
import { Revocations } from '../../core/access/revocations.ts';
import { warnOfFormerGrants } from '../../core/apiserver/access/grant-warnings.ts';
import { MetricsAccounts } from '../../core/apiserver/access/metrics-accounts.ts';
import { SystemAccess } from '../../core/apiserver/access/system-access.ts';
import { warnOfTokenSecret } from '../../core/apiserver/access/token-secrets.ts';
import { checkSigningRequest } from '../../core/apiserver/certificates/request-admission.ts';
import { withRequestReader } from '../../core/apiserver/certificates/request-kind.ts';
import { RequestReader } from '../../core/apiserver/certificates/request-reader.ts';
import { nodeResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import {
  checkRevocationRoom,
  isRevocation,
  revocationOf,
  revocationResource,
  revokedBy,
} from '../../core/apiserver/kinds/revocation-kind.ts';
import type { Kind, Space, SpaceType, WriteAdmission } from '../../core/apiserver/space.ts';
import type { StorageEvent } from '../../core/apiserver/storage.ts';
import type { TokenKeys } from '../../core/authentication/token-key.ts';
import type { Table } from '../../core/feed/feed.ts';
import { dropTable } from '../../core/feed/table.ts';
import { objectName } from '../../core/identity/node-path.ts';
import type { ConfiguredSpace } from '../../core/match/delivery-config.ts';
import { parseBody } from '../../core/object/canonical.ts';
import type { GroupResource } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { concat, text } from '../../core/store/bytes.ts';
import { type Keyspace, prefixOf } from '../../core/store/keyspace.ts';
import { removePrefix } from '../../core/store/remove-prefix.ts';
import type { Transaction } from '../../core/store/store.ts';
import { Inventory } from '../children/inventory.ts';
import { childOfChange, WrittenClaims } from '../children/written-claims.ts';
import type { NodeConfig } from '../config/config.ts';
import type { RolloutOrigin } from '../rollout/controllers.ts';
import { markDirty } from '../work/dirty.ts';
import { writeConfigured } from './configured-spaces.ts';
import type { InventoryRows } from './inventory-rows.ts';
import { type OriginSpace, originSpaceOf } from './origins.ts';
import {
  followBounds,
  type InventorySpace,
  type OpenSpace,
  openInventorySpace,
  openSpace,
  openWorkloadSpace,
  type SpacePorts,
  type WorkloadSpace,
} from './own-spaces.ts';
import { warnOfReplicas } from './replica-warnings.ts';
import type { PlacementSelection } from './selection.ts';
import { writtenSpaces } from './served-spaces.ts';
import type { RequestGate } from './space-limits.ts';
import { changesDelivery, isSpace, type SpaceSettings, settingsReader } from './space-settings.ts';
import { UsageStatus } from './usage-status.ts';

/** Between two writes, the store may commit. One write with all objects of a large space would keep all its changes in memory until then. */
const rowsPerWrite = 1_000;

export interface SpaceListeners {
  /** Called in the transaction that may change the destinations of a SyncTarget. */
  inventoryChanged(t: Transaction, syncTarget: string): void;
  /** Called in the transaction that changes the revocations of this node. */
  revocationsChanged(t: Transaction): void;
  /** Called when other ServiceAccounts of this node may read metrics below. */
  metricsAccountsChanged(): void;
  /** Called in the transaction that changes what a child may claim or report. */
  claimsChanged(t: Transaction, child: string): void;
  /** Called in the transaction that writes the Node object of the center. */
  authoritiesWritten(t: Transaction): void;
  /** Called in the transaction that removes a space. */
  spaceRemoved(t: Transaction, source: string): void;
  /** Called in the transaction that deletes a Node object. */
  nodeDeleted(t: Transaction, node: KubeObject): void;
  /** Whether this node has no session with its parent now. */
  isParentAway(): boolean;
}

export interface NodeSpacesPorts extends SpacePorts {
  /** The keys of the node's tokens. The first call may make a key. */
  readonly tokenKeys: () => TokenKeys;
  /** Whether a node above has the space of the source. */
  isServedAbove(source: string): boolean;
}

type SpacesConfig = Pick<NodeConfig, 'spaces' | 'access' | 'children' | 'replicas'>;

export class NodeSpaces {
  readonly inventory: Inventory;
  /** Which certificates of users and nodes this node refuses. */
  readonly revocations = new Revocations();
  /** Which ServiceAccounts of this node and of the nodes above may read metrics below. */
  readonly metricsAccounts: MetricsAccounts;
  /** The claims and quotas of children. */
  readonly writtenClaims: WrittenClaims;
  readonly #system: OpenSpace;
  readonly #access: SystemAccess;
  /** Keyed by source: `center.retail`. */
  readonly #workload = new Map<string, WorkloadSpace>();
  /** Keyed by source. */
  readonly #settings = new Map<string, () => SpaceSettings>();
  /** Keyed by the name of the space. */
  readonly #gates = new Map<string, RequestGate>();
  /** Keyed by source: ends the counts in the status of the Space. */
  readonly #usages = new Map<string, () => void>();
  readonly #ports: SpacePorts;
  readonly #spaceRemoved: SpaceListeners['spaceRemoved'];
  readonly #inventories = new Map<string, InventorySpace>();

  constructor(
    ports: NodeSpacesPorts,
    { spaces, access: { fromAbove }, children, replicas = 1 }: SpacesConfig,
    listeners: SpaceListeners,
  ) {
    this.#ports = ports;
    this.#spaceRemoved = (t, source) => listeners.spaceRemoved(t, source);
    let inventory: Inventory | undefined;
    let access: SystemAccess | undefined;
    const note = (t: Transaction, event: StorageEvent) => {
      if (isRevocation(event.object.key)) listeners.revocationsChanged(t);
      const child = childOfChange(event, ports.path);
      if (child !== undefined) {
        this.writtenClaims.changed(child);
        t.afterCommit(() => this.writtenClaims.changed(child));
        listeners.claimsChanged(t, child);
      }
      if (isSpace(event.object.key) && changesDelivery(event)) {
        const workload = this.#workload.get(this.sourceOf(event.object.key.name));
        if (workload) followBounds(t, workload);
      }
      if (isNode(event.object.key) && event.object.key.name === objectName('')) listeners.authoritiesWritten(t);
      if (event.type === 'DELETED' && isNode(event.object.key)) listeners.nodeDeleted(t, parseBody(event.object.body));
      for (const name of inventory?.note(event) ?? []) {
        markDirty(t, 'child', name);
        listeners.inventoryChanged(t, name);
      }
    };
    const reader = new RequestReader();
    const admission: WriteAdmission = (request) => {
      if (request.operation === 'create' && isRevocation(request.key)) checkRevocationRoom(this.revocations.ownCount);
      if (!access) return;
      access.admission(request);
      if (isSpace(request.key)) warnOfFormerGrants(this.#system.storage, request);
      warnOfTokenSecret(this.#system.space, request);
      warnOfReplicas({ path: ports.path, replicas, isParentAway: () => listeners.isParentAway() }, request);
      const { kinds } = this.#system.space;
      checkSigningRequest(
        { ...ports, kinds, reader, authorizer: access.authorizer, signs: ports.signsUsers ?? false },
        request,
      );
    };
    const kindsOf = (kinds: readonly Kind[]) => withRequestReader(kinds, reader);
    this.#system = openSpace(ports, 'system', 'System', note, { admission, kindsOf });
    for (const stored of this.#system.storage.scan(revocationResource))
      this.#noteRevocation({ type: 'ADDED', object: stored });
    this.#system.storage.subscribe((events) => {
      for (const event of events) if (isRevocation(event.object.key)) this.#noteRevocation(event);
    });
    this.writtenClaims = new WrittenClaims(this.#system.storage, children, ports.path);
    inventory = new Inventory(this.#system.storage);
    this.inventory = inventory;
    access = new SystemAccess({ ...ports, fromAbove, space: this.#system.space });
    this.#access = access;
    this.metricsAccounts = new MetricsAccounts({
      ...ports,
      space: this.#system.space,
      keys: ports.tokenKeys,
      changed: () => listeners.metricsAccountsChanged(),
    });
    for (const { name, type } of [...spaces, ...writtenSpaces(this.#system.space, { replicas })]) this.open(name, type);
    this.configure(spaces);
  }

  /** Opens the space, if it is not open. Only a space of type Workload or Inventory can be opened. */
  open(name: string, type: SpaceType): void {
    const source = this.sourceOf(name);
    if (this.isOpen(name)) return;
    if (type === 'Inventory') this.#inventories.set(source, openInventorySpace(this.#ports, name, source));
    if (type !== 'Workload') return;
    const settings = settingsReader(this.#system.storage, name);
    this.#settings.set(source, settings);
    const workload = openWorkloadSpace(this.#ports, name, source, settings);
    this.#workload.set(source, workload);
    this.#gates.set(name, workload.gate);
    this.#showUsage(this.#ports, name, workload, settings);
  }

  isOpen(name: string): boolean {
    return this.named(name) !== undefined;
  }

  /** Returns the space that clients reach under the name. */
  named(name: string): Space | undefined {
    const source = this.sourceOf(name);
    return (this.#workload.get(source) ?? this.#inventories.get(source))?.space;
  }

  /**
   * Ends the space. Call it when nothing of the space is at any place any more. Its objects are removed, so a later space of this name begins empty, at a later
   * revision. Throws StoreFull; then the space stays open, and a later call goes on.
   */
  remove(name: string): void {
    const source = this.sourceOf(name);
    const space = this.#workload.get(source) ?? this.#inventories.get(source);
    if (!space) return;
    // The writes come first: with a full disk, the first of them throws, and the space stays open for the next try.
    while (this.#ports.store.write((t) => space.storage.clear(t, rowsPerWrite)));
    this.#ports.store.write((t) => {
      dropTable(t, `source/${source}`);
      forgetSource(t, source);
      this.#spaceRemoved(t, source);
    });
    this.#usages.get(source)?.();
    for (const map of [this.#workload, this.#inventories, this.#settings, this.#usages]) map.delete(source);
    this.#gates.delete(name);
    space.close();
    space.storage.remove();
  }

  /** Writes the Space objects of the configuration. */
  configure(spaces: readonly ConfiguredSpace[]): void {
    writeConfigured(this.#system.space, spaces);
  }

  /** The bundle of authorities that a person has written into the Node object of the center. */
  writtenAuthorities(): string | undefined {
    const { space } = this.#system;
    const spec = space.get({ ...nodeResource, namespace: '', name: objectName('') })?.spec;
    return (spec as { readonly authorities?: string } | undefined)?.authorities;
  }

  /** The source of a space of this node: `center.retail`. */
  sourceOf(name: string): string {
    return `${objectName(this.#ports.path)}.${name}`;
  }

  get system(): Space {
    return this.#system.space;
  }

  /** Decides about the requests at this node. */
  get authorizer(): Authorizer {
    return this.#access.authorizer;
  }

  #noteRevocation({ type, object: { key, body } }: Pick<StorageEvent, 'type' | 'object'>): void {
    this.revocations.set(key.name, type === 'DELETED' ? undefined : revokedBy(parseBody(body)));
  }

  /** Revokes the certificates of the node at the path that are valid now, and everything that the node has signed. */
  revokeNode(path: string, atMs: number): void {
    const revocation = revocationOf({ kind: 'nodes', name: path, atMs });
    this.system.apply(revocation, { fieldManager: 'banyan-join', force: true });
  }

  *workloads(): Generator<{ name: string; space: Space }> {
    for (const { space } of this.#workload.values()) yield { name: space.name, space };
  }

  /** Returns all spaces that clients reach under the name of the space. */
  *allNamed(): Generator<Space> {
    for (const { space } of [...this.#workload.values(), ...this.#inventories.values()]) yield space;
  }

  /** Returns the inventory spaces, keyed by source, each with its inventory. */
  inventories(): Map<string, { space: Space; inventory: Inventory }> {
    const all = [...this.#inventories];
    return new Map(all.map(([source, { space, rows }]) => [source, { space, inventory: rows.inventory }]));
  }

  /** Returns the parts that bring objects of spaces into the tables of their sources. */
  *contributing(): Generator<PlacementSelection | InventoryRows> {
    for (const { rows } of this.#inventories.values()) yield rows;
    for (const { selection } of this.#workload.values()) yield selection;
  }

  /** Returns the spaces whose objects travel, keyed by source. */
  spaceIncarnations(): Map<string, OriginSpace> {
    const ownSpaces = [...this.#workload, ...this.#inventories];
    return new Map(ownSpaces.map(([source, { storage, table }]) => [source, originSpaceOf(source, storage, table)]));
  }

  /** Returns the spaces whose placements may have rollouts. */
  *origins(): Generator<RolloutOrigin> {
    for (const { source, space, selection } of this.#workload.values()) {
      yield { source, space, baseline: selection.baseline };
    }
  }

  /** Returns the present revision of each own source. */
  revisions(): Record<string, number> {
    const sources = [...this.#workload, ...this.#inventories];
    return Object.fromEntries(sources.map(([source, { space }]) => [source, space.storage.revision()]));
  }

  #showUsage(
    { clock }: SpacePorts,
    name: string,
    { storage, usage, source }: WorkloadSpace,
    settings: () => SpaceSettings,
  ): void {
    const { space: system } = this.#system;
    const status = new UsageStatus({ system, space: { name, limits: () => settings().limits }, usage, clock });
    storage.subscribe(() => status.changed());
    const unsubscribe = system.storage.subscribe((events) => {
      if (events.some(({ object: { key } }) => isSpace(key) && key.name === name)) status.changed();
    });
    this.#usages.set(source, () => {
      unsubscribe();
      status.close();
    });
  }

  /** Admits a request to a space of this node (RequestGate.admit). Other places have no limits here. */
  admitRequest(place: AccessPlace, isWatch: boolean): (() => void) | undefined {
    return 'space' in place ? this.#gates.get(place.space)?.admit(isWatch) : undefined;
  }

  /** Returns the settings of a workload space as they are now. Sources of nodes above have none here. */
  settingsOf(source: string): SpaceSettings {
    return this.#settings.get(source)?.() ?? {};
  }

  /** Returns the workload space of a source. Undefined for sources of nodes above. */
  own(source: string): Space | undefined {
    return this.#workload.get(source)?.space;
  }

  tableOf(source: string): Table | undefined {
    return (this.#workload.get(source) ?? this.#inventories.get(source))?.table;
  }

  close(): void {
    for (const end of this.#usages.values()) end();
    for (const space of [...this.#workload.values(), ...this.#inventories.values()]) space.close();
    this.#access.close();
    this.metricsAccounts.close();
    this.#system.close();
  }
}

function isNode({ group, resource }: GroupResource): boolean {
  return group === nodeResource.group && resource === nodeResource.resource;
}

/** Records of rooms about the objects of a source, keyed by the name of the source and NUL. */
const recordsOfSource: readonly Keyspace[] = [
  'selection',
  'implied',
  'reportedStatus',
  'carriesOnce',
  'formerObject',
  'formerGone',
];

function forgetSource(t: Transaction, source: string): void {
  for (const space of recordsOfSource) {
    removePrefix(t, concat(prefixOf(space), text(source), Uint8Array.of(0)));
  }
  t.remove(concat(prefixOf('formerCount'), text(source)));
}
