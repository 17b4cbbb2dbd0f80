/** The Node object of this node itself, and the report about this node to its parent. */
import type { Space } from '../../core/apiserver/space.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import type { Dependents, NodeAttributes, TroubleAttributes } from '../../core/entries/up-attributes.ts';
import type { Producer } from '../../core/feed/feed.ts';
import { cutCounts } from '../../core/object/bounded-counts.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { timestamp } from '../../core/object/conditions.ts';
import type { Labels } from '../../core/object/selector.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Divergence } from '../../core/session/feed-alarm.ts';
import { type WatermarkWait, waitsAttributes } from '../../core/session/watermark-gate.ts';
import { text } from '../../core/store/bytes.ts';
import { isDiskLow } from '../../core/store/room.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import type { ReportedTrust } from '../../core/wire/tree-trust.ts';
import { dependentsOf, type OwnTrust, type Reporting, shownAuthorities } from './authority-dependents.ts';
import { type NodeStatus, showNode } from './node-objects.ts';

export interface OwnNodePorts {
  readonly space: Space;
  readonly path: string;
  readonly software: string;
  /** The labels of the configuration. */
  readonly labels: Labels;
  readonly advertised?: NodeStatus['advertised'];
  readonly clock: Clock;
  readonly store: Store;
  readonly outbox: Producer;
  /** Returns whether the node is attached to its parent; undefined for the root. */
  attached(): boolean | undefined;
  /** Returns why there is no session with the parent. Undefined: there is one, or the node has not tried yet. */
  unreached?(): string | undefined;
  /** Returns why the renewal of the node's certificate is due and has not happened. */
  certificateTrouble?(): TroubleAttributes | undefined;
  /** Returns the authorities of nodes that this node trusts. Undefined: they never change. */
  trust?(): OwnTrust | undefined;
  /** Returns what the parent must receive before this node accepts anything from it. */
  waiting?(): WatermarkWait | undefined;
  /** Returns a difference between the two ends of the node's feed from its parent. */
  diverged(): Divergence | undefined;
  /** Returns the age in ms of the newest report of the root at this node, over all hops; 0 at the root. */
  rootAgeMs(): number;
  /** Returns the alarms of this node itself: the entries that it holds, the spaces whose store was restored, and the quarantined entries. */
  guarded(reader: Reader): Pick<NodeAttributes, 'held' | 'rolledBack' | 'quarantined'>;
}

/** How often the node reads values whose changes nobody announces: the free space of its disk, and the age of the root's report. */
export const lookEveryMs = 30_000;
/** A report of the root that is younger than this counts as new: each hop sends a beat every 15 s. */
const rootAgeShownMs = 60_000;

export class OwnNode {
  readonly #ports: OwnNodePorts;
  #rootContactMs: number | undefined;

  constructor(ports: OwnNodePorts) {
    this.#ports = ports;
  }

  /** `counts`: the children, and the nodes and destinations below. `trustBelow`: the reports about authorities of the children that this node counts. */
  show(counts: { children: number; relays: number; agents: number }, trustBelow: Iterable<Reporting>): void {
    const { space, path, clock, outbox, store, software, labels, advertised } = this.#ports;
    const kept = store.read((reader) => this.#ports.guarded(reader));
    const diverged = this.#ports.diverged();
    const diskLow = isDiskLow(store);
    const certificateTrouble = this.#ports.certificateTrouble?.();
    const waits = waitsAttributes(this.#ports.waiting?.());
    const trust = this.#ports.trust?.();
    const reportedTrust = trust && this.#reportedTrust(trust, trustBelow);
    const status: NodeStatus = {
      version: software,
      labels,
      ...(advertised ? { advertised } : {}),
      ...this.#session(),
      ...this.#rootContact(),
      ...counts,
      ...kept,
      ...(trust && reportedTrust ? { authorities: shownAuthorities(trust, reportedTrust.dependents) } : {}),
    };
    const role = path === '' ? 'Center' : 'Relay';
    const alarms = { diverged, diskLow, certificateTrouble, ...waits };
    showNode(space, path, role, status, clock.wallMs(), alarms, this.#ports.unreached?.());
    if (path === '') return;
    const report: NodeAttributes = {
      role: 'relay',
      version: software,
      ...cutCounts(counts),
      ...kept,
      ...reportedTrust,
      ...(diverged ? { diverged: { at: timestamp(diverged.atMs), what: diverged.what } } : {}),
      ...(diskLow ? { diskLow: true as const } : {}),
      ...(certificateTrouble ? { certificateTrouble } : {}),
      ...waits,
    };
    store.write((t) => outbox.put(t, nodeEntry(path, report), 0));
  }

  #session(): Pick<NodeStatus, 'session'> {
    const attached = this.#ports.attached();
    return attached === undefined ? {} : { session: { state: attached ? 'Connected' : 'Disconnected' } };
  }

  /** Shows the time of the newest report of the root, not its age. The time stays the same while the age grows, so it is written once. */
  #rootContact(): Pick<NodeStatus, 'rootContactAt'> {
    const ageMs = this.#ports.rootAgeMs();
    if (ageMs < rootAgeShownMs) return {};
    const contactMs = this.#ports.clock.wallMs() - ageMs;
    // Two readings of two clocks differ by a few ms. The text must be the same for the same report.
    const before = this.#rootContactMs ?? contactMs;
    this.#rootContactMs = Math.abs(before - contactMs) < lookEveryMs / 10 ? before : contactMs;
    return { rootContactAt: timestamp(this.#rootContactMs) };
  }

  /** The report of this node to its parent about authorities. */
  #reportedTrust({ own }: OwnTrust, below: Iterable<Reporting>): ReportedTrust & { readonly dependents: Dependents } {
    const self = { path: this.#ports.path, report: own };
    return { ...own, dependents: dependentsOf([self, ...below], own.trusts) };
  }
}

/** The entry with which a node reports a node at or below itself. */
export function nodeEntry(path: string, node: NodeAttributes) {
  return { key: entryKey.node(path), attributes: text(stableStringify(node)), body: new Uint8Array(0) };
}
