/**
 * Node and Mailbox objects of the system space: they show this node and the tree below it. They are for people and scripts; nothing in the mesh depends on
 * them.
 */
import type { Space } from '../../core/apiserver/space.ts';
import type { HeldAttributes, QuarantinedAttributes, RolledBackAttributes } from '../../core/entries/up-attributes.ts';
import { objectName } from '../../core/identity/node-path.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { type NewCondition, timestamp, withCondition } from '../../core/object/conditions.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { type Alarms, alarmConditions } from './alarm-conditions.ts';
import type { ShownAuthority } from './authority-dependents.ts';
import { conditionsOf, guardConditions, heldCondition, writeGuardEvents } from './guard-conditions.ts';

export type NodeRole = 'Center' | 'Relay' | 'Agent';
/** `Never`: the node has never attached to its parent, as far as the parent knows. */
export type ConnectionState = 'Connected' | 'Disconnected' | 'Never' | 'Unknown';

export interface NodeStatus {
  readonly version: string;
  /** Only of the node itself. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Only of the node itself: its configuration, `advertise`. */
  readonly advertised?: { readonly api?: string | undefined; readonly mesh?: string | undefined };
  /** The session with the parent; absent at the root. */
  readonly session?: { readonly state: ConnectionState; readonly since?: string; readonly transport?: string };
  /** The time of the newest report of the root that reached the node, over all hops. Absent while that time is recent. */
  readonly rootContactAt?: string;
  readonly lag?: { readonly entries: number; readonly bytes?: number };
  readonly children?: number;
  readonly relays?: number;
  /** Destinations at and below the node. */
  readonly agents?: number;
  readonly held?: HeldAttributes;
  readonly rolledBack?: readonly RolledBackAttributes[];
  readonly quarantined?: QuarantinedAttributes;
  readonly refused?: QuarantinedAttributes;
  readonly heldInMailbox?: HeldAttributes;
  /** Only of the node itself. */
  readonly authorities?: readonly ShownAuthority[];
  /** The capacity of an agent's cluster. */
  readonly capacity?: Readonly<Record<string, string>>;
}

export interface MailboxStatus {
  readonly entries: number;
  readonly head: number;
  readonly acknowledged: number;
  readonly backlogEntries: number;
  readonly backlogBytes: number;
  /** The number of entries that the child could not use, as the child reports them. */
  readonly quarantinedEntries: number;
  /** Entries that stay in the mailbox although the child reports fewer Locations. */
  readonly held?: HeldAttributes;
  readonly quarantined?: readonly { readonly key: string; readonly reason: string; readonly message: string }[];
}

const apiVersion = 'mesh.banyan.io/v1alpha1';

export function showNode(
  space: Space,
  path: string,
  role: NodeRole,
  status: NodeStatus,
  wallMs: number,
  alarms: Alarms = {},
  unreached?: string,
): void {
  const node = { apiVersion, kind: 'Node', metadata: { name: objectName(path) }, spec: { path, role } };
  const conditions = [
    readiness(status.session?.state, unreached),
    ...guardConditions(path, status),
    ...alarmConditions(alarms),
  ];
  const { before, after } = show(space, { ...node, status }, conditions, wallMs);
  writeGuardEvents(space, after, before, wallMs);
}

type NodeAlarms = Pick<NodeStatus, 'held' | 'rolledBack' | 'quarantined' | 'refused' | 'heldInMailbox'>;

/** Returns the parts of a status that people should look at. */
export function guarded({ held, rolledBack, quarantined, refused, heldInMailbox }: NodeAlarms): NodeAlarms {
  return {
    ...(held ? { held } : {}),
    ...(rolledBack?.length ? { rolledBack } : {}),
    ...(quarantined ? { quarantined } : {}),
    ...(refused ? { refused } : {}),
    ...(heldInMailbox ? { heldInMailbox } : {}),
  };
}

/** Returns the quarantined entries that a child reports, in the form of a Mailbox. Each line is `key: what is wrong`; no valid key has a colon and a space. */
export function untakenEntries(
  report: QuarantinedAttributes | undefined,
): Pick<MailboxStatus, 'quarantinedEntries' | 'quarantined'> {
  if (!report) return { quarantinedEntries: 0 };
  const quarantined = report.sample.map((one) => {
    const at = one.indexOf(': ');
    return { key: one.slice(0, Math.max(0, at)), reason: 'Poisoned', message: one.slice(at < 0 ? 0 : at + 2) };
  });
  return { quarantinedEntries: report.count, quarantined };
}

export function showMailbox(space: Space, child: string, path: string, status: MailboxStatus, wallMs: number): void {
  const mailbox = { apiVersion, kind: 'Mailbox', metadata: { name: objectName(child) }, spec: { path }, status };
  const { held } = status;
  show(space, mailbox, [heldCondition(path, held ? { heldInMailbox: held } : {})], wallMs);
}

export function hide(space: Space, kind: 'Node' | 'Mailbox', name: string): void {
  const key = space.keyOf({ apiVersion, kind, metadata: { name } });
  if (space.get(key)) space.delete(key);
}

export function sessionState(
  connected: boolean,
  heardAtMs: number | undefined,
): 'Connected' | 'Disconnected' | 'Never' {
  if (connected) return 'Connected';
  return heardAtMs === undefined ? 'Never' : 'Disconnected';
}

/** `unreached`: why there is no session with the parent, as far as this node knows. */
function readiness(state: ConnectionState | undefined, unreached: string | undefined): NewCondition {
  const type = 'Ready';
  switch (state) {
    case undefined:
      return { type, status: 'True', reason: 'Serving', message: 'the node serves; it has no parent' };
    case 'Connected':
      return { type, status: 'True', reason: state, message: 'the session with the parent is established' };
    case 'Disconnected': {
      const why = unreached === undefined ? '' : `: ${unreached}`;
      return { type, status: 'False', reason: state, message: `there is no session with the parent${why}` };
    }
    case 'Never':
      return { type, status: 'False', reason: state, message: 'the node has never connected to its parent' };
    case 'Unknown':
      return {
        type,
        status: 'Unknown',
        reason: 'NotReachable',
        message: 'a node on the way from here to this node is not connected',
      };
  }
}

/** Creates the object, or updates its status. An unchanged status causes no write. A condition that was never True is left out while it is False. */
export function show(
  space: Space,
  object: KubeObject,
  conditions: readonly NewCondition[] = [],
  wallMs = 0,
): { readonly before: KubeObject; readonly after: KubeObject } {
  const key = space.keyOf(object);
  const before = space.get(key) ?? space.create(object);
  const former = conditionsOf(before);
  const merged = conditions
    .filter(({ type, status }) => status !== 'False' || type === 'Ready' || former.some((one) => one.type === type))
    .reduce((all, condition) => withCondition(all, condition, timestamp(wallMs)), former);
  const status = { ...(object.status as object), ...(conditions.length > 0 ? { conditions: merged } : {}) };
  if (stableStringify(before.status ?? {}) === stableStringify(status)) return { before, after: before };
  return { before, after: space.update({ ...before, status }, { subresource: 'status' }) };
}
