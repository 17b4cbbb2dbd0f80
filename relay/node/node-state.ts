/** The state that all rooms of a node use: its feeds, mailboxes and spaces, and the placements and children that it knows. */

import type { Space } from '../../core/apiserver/space.ts';
import type { DryRunPreview } from '../../core/apiserver/verbs/embedded-space.ts';
import type { MetricsTokens } from '../../core/authentication/metrics-tokens.ts';
import { type TokenKeys, tokenKeysIn } from '../../core/authentication/token-key.ts';
import { authoritiesAbove } from '../../core/entries/authorities-above.ts';
import { deletionGuard } from '../../core/entries/deletion-guard.ts';
import type { TreeAttributes } from '../../core/entries/down-attributes.ts';
import { downFeedJudge } from '../../core/entries/down-check.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import { metricsIssuersAbove } from '../../core/entries/metrics-issuers.ts';
import { revokedAbove } from '../../core/entries/revoked-above.ts';
import { farAheadBy, isServedAbove } from '../../core/entries/source-incarnations.ts';
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange, Producer, Table } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { childPath, depthOf, nameOf, parentOf } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Labels } from '../../core/object/selector.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { dismissRelayKey, dueRevocations, revocationWritten } from '../../core/session/admitted-keys.ts';
import { leaveFormerPath } from '../../core/session/former-path.ts';
import { beginBoot, type NodeIdentity } from '../../core/session/node-identity.ts';
import { readWatermarks, type Watermarks } from '../../core/session/watermark.ts';
import { ifRoom } from '../../core/store/room.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import { metricsTokensAt } from '../../core/stream/metrics-users.ts';
import type { ChildConnection } from '../../core/summary/contribution.ts';
import { LabelSummaryAcknowledgement } from '../catch-up/label-summary-acknowledgement.ts';
import { ChildClaims } from '../children/child-claims.ts';
import { ChildRegistry } from '../children/child-registry.ts';
import type { Child } from '../children/children.ts';
import { Evictions } from '../children/evictions.ts';
import { reportOwnRevoked } from '../children/inherited-entries.ts';
import { inheritedBelow } from '../children/inherited-labels.ts';
import { syncTargetResource } from '../children/inventory.ts';
import type { NodeConfig } from '../config/config.ts';
import { HandedAuthorities } from '../join/handed-authorities.ts';
import { Mailboxes } from '../mailbox/mailboxes.ts';
import { Placements } from '../placements/placements.ts';
import { dryRunPreview } from '../plan/dry-run.ts';
import type { PlacePreviewPorts } from '../plan/place-preview.ts';
import type { ReplicaSums } from '../replicas/recounts.ts';
import { ReplicaRoom } from '../replicas/replica-room.ts';
import type { Replicas } from '../replicas/replicas.ts';
import { InventoryBelow } from '../schedule/inventory-below.ts';
import { NodeSpaces } from '../spaces/node-spaces.ts';
import { markDirty } from '../work/dirty.ts';
import { authoritiesTopic, revocationsTopic } from '../work/topics.ts';
import { forgetRecordsOf, renameNodes } from './former-path.ts';
import { refusedClaims } from './metrics.ts';
import type { NodePorts } from './node-ports.ts';

/** The functions of the parts that the node makes after the rooms. The rooms call these functions. */
export interface LateParts {
  /** Runs the write in its own transaction, in the order of the calls. With a full disk, the write waits until there is room. */
  enqueue(act: (t: Transaction) => void): void;
  connection(child: string): ChildConnection;
  endSession(child: string, reason: string): void;
  /** Returns whether this run of the process has received everything that the parent had. True if there is no parent. */
  hasReceivedFromParent(): boolean;
  /** Returns whether the node has a parent, and no session with it now. */
  isParentAway(): boolean;
  /** Returns whether the parent is one of several replicas. */
  parentHasReplicas(): boolean;
  /** Runs in the transaction that drops the mailbox of a child. */
  childRemoved(t: Transaction, child: string): void;
  /** Runs in the transaction that removes a space of this node. */
  spaceRemoved(t: Transaction, source: string): void;
  /** Runs in a transaction in which quarantined reports of a child have become valid. */
  judgedAgain(t: Transaction, child: string, changes: readonly AppliedChange[]): void;
  readonly sums: Omit<ReplicaSums, 'labels'>;
  /** Called when the node trusts other authorities, or hands others down. */
  authoritiesChanged(): void;
  /** Called when the store is broken. */
  failed(error: unknown): void;
}

/** The lookups that most rooms need. The node spreads this object into their ports. */
export interface Lookups {
  readonly placements: Placements;
  readonly children: ReadonlyMap<string, Child>;
  /** Returns the table with the rows of a source: the table of one of the node's own spaces, or of the parent's feed. */
  tableOf(source: string): Table;
  mailboxOf(child: string): Producer | undefined;
  /** Returns the reports of a child: the consumer's table of its up feed. */
  reportedOf(child: string): Table | undefined;
  ownSpace(source: string): Space | undefined;
  pathOf(child: string): string;
  /**
   * Returns for each source the revision up to which this node has all rows. For a source above, this is the parent's watermark; for an own space, its present
   * revision.
   */
  covered(reader: Reader): Watermarks;
}

/** After a full disk. A person needs longer to make room. */
const revokeAgainMs = 10_000;

export class NodeState {
  readonly path: string;
  /** The number of hops to the root. */
  readonly depth: number;
  readonly identity: NodeIdentity;
  readonly upstream: FeedConsumer;
  readonly outbox: FeedProducer;
  readonly mailboxes: Mailboxes;
  readonly spaces: NodeSpaces;
  /** The tokens for metrics of the nodes above. */
  readonly metricsTokens: MetricsTokens;
  readonly placements = new Placements();
  readonly inventory: InventoryBelow;
  readonly claims: ChildClaims;
  readonly childRegistry: ChildRegistry;
  readonly labelSummaryAcknowledgement: LabelSummaryAcknowledgement;
  readonly replicas: Replicas;
  readonly lookups: Lookups;
  /** Undefined: this node hands down no authorities. */
  readonly handedAuthorities: HandedAuthorities | undefined;
  /** The keys of the node's tokens. The first call may make a key. */
  readonly tokenKeys: () => TokenKeys;
  readonly #store: Store;
  readonly #trust: NodePorts['trust'];
  readonly #log: NodePorts['log'];

  constructor(config: NodeConfig, ports: NodePorts, lateParts: LateParts) {
    const { store, clock, random, log, defer } = ports;
    const { path } = config;
    this.#store = store;
    this.path = path;
    this.depth = depthOf(path);
    this.identity = store.write((t) => beginBoot(t, clock, random));
    const { bootNonce } = this.identity;
    const guard = deletionGuard(clock, config.limits);
    const isFarAhead = farAheadBy(clock);
    this.upstream = store.write((t) =>
      FeedConsumer.open(t, { name: 'upstream', guard, judge: downFeedJudge('relay'), isFarAhead }),
    );
    this.outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce, random }));
    const former = store.write((t) => {
      const left = leaveFormerPath(t, path, this.outbox);
      if (left !== undefined) forgetRecordsOf(t, left);
      return left;
    });
    this.mailboxes = new Mailboxes(store, random, bootNonce, path, isFarAhead, (child) =>
      this.spaces.writtenClaims.quotaOf(child),
    );
    // The children are not known yet when the spaces open. No client writes before the node serves.
    const preview = (source: string): DryRunPreview => {
      return (...args) => dryRunPreview(this.previewPorts, source)(...args);
    };
    const signsUsers = ports.userSigner !== undefined;
    this.tokenKeys = () => tokenKeysIn(store, ports.tokenKeys);
    const authority = () => ports.authority();
    const isAbove = (source: string) => store.read((reader) => isServedAbove(reader, this.upstream.sound, source));
    const more = { preview, signsUsers, tokenKeys: this.tokenKeys, authority, isServedAbove: isAbove };
    this.spaces = new NodeSpaces({ store, clock, random, log, defer, path, ...more }, config, {
      inventoryChanged: (t, child) => this.childRegistry.widen(t, child),
      claimsChanged: (t, child) => this.childRegistry.claimsChanged(t, child),
      revocationsChanged: (t) => {
        this.childRegistry.inheritedChanged(t);
        t.announce(revocationsTopic, 'self');
        t.afterCommit(() => lateParts.enqueue((later) => this.reportOwnRevoked(later)));
      },
      metricsAccountsChanged: () => lateParts.enqueue((t) => this.childRegistry.inheritedChanged(t)),
      spaceRemoved: (t, source) => lateParts.spaceRemoved(t, source),
      nodeDeleted: (t, node) => this.#nodeDeleted(t, node, clock),
      authoritiesWritten: (t) => t.announce(authoritiesTopic, 'self'),
      isParentAway: () => lateParts.isParentAway(),
    });
    this.readRevocationsAbove();
    this.#trust = ports.trust;
    this.#log = log;
    this.readAuthorities();
    this.handedAuthorities =
      ports.trust &&
      new HandedAuthorities({
        trust: ports.trust,
        signer: ports.signer,
        clock,
        changed: () => {
          lateParts.enqueue((t) => this.childRegistry.inheritedChanged(t));
          lateParts.authoritiesChanged();
        },
      });
    this.metricsTokens = metricsTokensAt({ clock, path, fromAbove: config.access.fromAbove });
    this.readMetricsIssuersAbove();
    const tableOf = (source: string) => this.spaces.tableOf(source) ?? this.upstream.sound;
    this.inventory = new InventoryBelow({
      path,
      tableOf,
      mailboxOf: (child) => this.mailboxes.get(child),
      replicasOf: (child) => this.mailboxes.replicasOf(child),
      changedBelow: (t, child) => {
        if (this.claims.inventoryChanged(child)) this.childRegistry.claimsChanged(t, child);
      },
    });
    this.claims = new ChildClaims({
      path,
      clock,
      log,
      written: (child) => this.spaces.writtenClaims.claimsOf(child),
      given: (child) => this.spaces.writtenClaims.givenTo(child),
      inventoryBelow: (child) => store.read((reader) => [...this.inventory.rowsBelow(reader, child)]),
      measured: (refused) => refusedClaims.inc(refused),
    });
    this.labelSummaryAcknowledgement = new LabelSummaryAcknowledgement({
      store,
      upstream: this.upstream,
      outbox: this.outbox,
      mailboxes: this.mailboxes,
    });
    this.childRegistry = new ChildRegistry({
      summaryReported: (t, attributes) => this.labelSummaryAcknowledgement.summaryReported(t, attributes),
      rowsAt: (reader, child) => this.inventory.rowsAt(reader, child),
      relayAdded: (t, child) => {
        this.inventory.relayAdded(t, child);
        this.replicas.relayAdded(t, child);
      },
      inventory: this.spaces.inventory,
      counting: {
        isOtherReplica: (config.replicas ?? 1) > 1,
        counts: (child) => {
          const { counts, isMixed } = this.replicas.standing(child);
          return counts && !isMixed;
        },
      },
      mailboxes: this.mailboxes,
      claims: this.claims,
      outbox: this.outbox,
      clock,
      write: (act) => lateParts.enqueue(act),
      evictions: new Evictions(clock, (names) =>
        lateParts.enqueue((t) => {
          for (const name of names) markDirty(t, 'child', name);
        }),
      ),
      revocations: this.spaces.revocations,
      metricsAccounts: this.spaces.metricsAccounts,
      authorities: () => this.handedAuthorities?.present(),
      inherited: () => this.#inherited(config, ports),
      path,
    });
    this.replicas = this.#makeReplicas(config, ports, lateParts);
    this.lookups = {
      placements: this.placements,
      children: this.childRegistry.children,
      tableOf,
      mailboxOf: (child) => this.mailboxes.get(child)?.producer,
      reportedOf: (child) => this.mailboxes.get(child)?.reported,
      ownSpace: (source) => this.spaces.own(source),
      pathOf: (child) => childPath(path, child),
      covered: (reader) => ({ ...readWatermarks(reader).complete, ...this.spaces.revisions() }),
    };
    if (former !== undefined) renameNodes(this.spaces.system, former, path);
  }

  #makeReplicas(
    { replica = 0, replicas = 1 }: NodeConfig,
    { store, clock }: NodePorts,
    lateParts: LateParts,
  ): Replicas {
    return new ReplicaRoom({
      store,
      clock,
      mailboxes: this.mailboxes,
      upstream: this.upstream,
      outbox: this.outbox,
      replica,
      replicas,
      sums: { labels: (t, children) => this.childRegistry.recount(t, children), ...lateParts.sums },
      isConnected: (child) => lateParts.connection(child).connected,
      endSession: (child, reason) => lateParts.endSession(child, reason),
      enqueue: (act) => lateParts.enqueue(act),
    });
  }

  /** For previews of placements: how many destinations would match. */
  get previewPorts(): PlacePreviewPorts {
    const { children, pathOf, placements } = this.lookups;
    return {
      children,
      pathOf,
      present: (id) => placements.get(id),
      boundsOf: (source) => this.spaces.settingsOf(source).delivery,
    };
  }

  /** Call it when the entry from above has changed. */
  readMetricsIssuersAbove(): void {
    const issuers = this.#store.read((reader) => metricsIssuersAbove(reader, this.upstream.sound));
    this.spaces.metricsAccounts.setAbove(issuers);
    this.metricsTokens.setIssuers(issuers);
  }

  /** Call it when the entry from above has changed, or at the center the field in its Node object. */
  readAuthorities(): void {
    const above = () => this.#store.read((reader) => authoritiesAbove(reader, this.upstream.sound));
    const bundle = this.path === '' ? this.spaces.writtenAuthorities() : undefined;
    // Otherwise the nodes below would refuse the center, and nobody could hand them another bundle.
    if (bundle !== undefined && this.#trust?.wouldEndOwn(bundle)) return this.#refuseAuthorities();
    const handed = bundle === undefined ? above() : { bundle };
    if (handed) this.#trust?.receive(handed);
  }

  #refuseAuthorities(): void {
    const reason = 'the certificate of the center leads to none of them: put one of the next authority in place first';
    this.#log.error({ reason }, 'spec.authorities of the Node object has no effect');
  }

  /** Call it when the entry from above has changed. */
  readRevocationsAbove(): void {
    this.spaces.revocations.setAbove(this.#store.read((reader) => revokedAbove(reader, this.upstream.sound)));
  }

  /** Call it when Revocations of this node have changed, and once at the start: the last process may have ended before it has reported them. */
  reportOwnRevoked(t: Transaction): void {
    reportOwnRevoked(t, this.outbox, this.spaces.revocations, this.replicas.hasReplicas);
  }

  /**
   * A person removes a child. The objects at its clusters stay. The key of a relay is refused from now on, and so is everything that it has signed. The Node object
   * of the first replica stands for all of them. A Node object of a child that is gone already was deleted by this node itself.
   */
  #nodeDeleted(t: Transaction, { spec }: KubeObject, clock: Clock): void {
    const { path = '', role } = (spec ?? {}) as { readonly path?: string; readonly role?: string };
    if (path === '' || parentOf(path) !== this.path) return;
    const name = nameOf(path);
    // In a turn of its own, because this runs in the transaction of the deletion.
    const later = (act: () => void) => t.afterCommit(() => clock.after(0, act));
    if (role === 'Agent' && this.childRegistry.children.has(name)) later(() => this.#removeAgent(name, clock));
    if (role !== 'Relay') return;
    const isOneReplica = splitReplica(name).replica > 0;
    for (const child of isOneReplica ? [name] : this.mailboxes.replicasOf(name)) {
      this.mailboxes.leave(t, child);
      markDirty(t, 'child', child);
    }
    if (!isOneReplica && dismissRelayKey(t, path, clock.wallMs())) later(() => this.writeDueRevocations(clock));
  }

  /** An agent is a child as long as its SyncTarget exists. */
  #removeAgent(name: string, clock: Clock): void {
    const key = { ...syncTargetResource, namespace: '', name };
    const isDone = ifRoom(() => {
      if (this.spaces.system.get(key)) this.spaces.system.delete(key);
    });
    if (!isDone) clock.after(revokeAgainMs, () => this.#removeAgent(name, clock));
  }

  /** Writes the Revocations of deleted relays. What a crash or a full disk has left due is written at the next start, or when there is room. */
  writeDueRevocations(clock: Clock): void {
    const isDone = ifRoom(() => {
      for (const { path, atMs } of this.#store.read(dueRevocations)) {
        this.spaces.revokeNode(path, Math.max(atMs, this.spaces.revocations.nodeRevokedAtMs(path) ?? 0));
        this.#store.write((t) => revocationWritten(t, path));
      }
    });
    if (!isDone) clock.after(revokeAgainMs, () => this.writeDueRevocations(clock));
  }

  isOrigin(source: string): boolean {
    return this.spaces.own(source) !== undefined;
  }

  #inherited({ path, labels }: NodeConfig, { store }: NodePorts): Labels {
    const row = store.read((reader) => {
      const found = this.upstream.sound.get(reader, hash128(entryKey.tree()));
      return found?.content && this.upstream.content(reader, found.content);
    });
    const above = row ? attributesOf<TreeAttributes>(row).labels : {};
    return inheritedBelow(path, above, labels);
  }
}
