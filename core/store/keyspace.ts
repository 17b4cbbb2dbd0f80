/**
 * The registry of key prefixes: every key in a store begins with one of these two-byte numbers. From the first release on, the list is append-only: a
 * number is never used again for another purpose, and retired numbers stay in the list.
 *
 * The comment of each prefix shows the rest of the key, then `->` and the value. `#` is a u48, `h` a 16-byte hash, `4` a u32, `…` text to the end.
 */
import { u16 } from './bytes.ts';

export const keyspace = {
  /** -> JSON {format, createdAt}; see store/format.ts */
  format: 1,
  /** h contentHash -> content record (see feed/content.ts) */
  content: 2,
  /** h contentHash -> u32 number of rows that have this content */
  contentReferences: 3,
  /** 4 tableId -> name of the table (see feed/table.ts) */
  tableName: 4,
  /** 4 tableId, h keyHash -> row */
  tableRow: 5,
  /** 4 tableId, # revision -> h keyHash */
  tableRevision: 6,
  /** 4 tableId -> JSON state of the table's producer */
  producerState: 7,
  /** 4 tableId -> digest and resume tuple of the table's consumer (see feed/consumer-state.ts) */
  consumerState: 8,
  /** … peer path -> JSON {sessionSequence, bootCounter, …} */
  session: 9,
  /** -> JSON {epoch, boot counter}: identifies this node's store, and counts its starts */
  node: 10,
  /** 4 spaceId, … object key -> object row (see apiserver/storage/embedded.ts) */
  spaceObject: 11,
  /** … space name -> JSON {id, revision, …} */
  spaceState: 12,
  /** … source name, NUL, … placement name, NUL, h keyHash -> nothing: an object of the placement */
  selection: 13,
  /** … source name, NUL, … placement, NUL, … reason -> u32: number of objects that need this Namespace or CustomResourceDefinition */
  implied: 14,
  /** 4 class, … work key -> JSON: work that the scheduler still must do */
  dirty: 15,
  /** … placement id, NUL, … child -> nothing: the child's mailbox has this placement */
  matched: 16,
  /** … placement id -> nothing: a placement that this node has, from its own spaces or from its parent */
  placement: 17,
  /** … child name -> JSON {role}: a child that has a mailbox at this node */
  child: 18,
  /** … object key -> JSON OwnerRecord: an object that this agent has applied to its cluster */
  ownerRecord: 19,
  /** … agent, NUL, h keyHash -> JSON: an object that this node customizes for the agent (see relay/customize/renderings.ts) */
  customized: 20,
  /** … path of an agent, NUL, h keyHash -> nothing: an upsynced object of the agent's cluster that is in the table of at least one child */
  upsynced: 21,
  /** … source name, NUL, … object key -> JSON {replicaSets?}: an object of an own space whose status this node has written, and the ReplicaSets beside it */
  reportedStatus: 22,
  /** … placement id, NUL, h key hash of an object -> its entry key: the node keeps promoted content of this object beside the candidate */
  heldBack: 30,
  /** … placement id, NUL, … entry key of an object -> nothing: no agent gets this row until this node knows the placement's release */
  withheld: 31,
  /** … placement id, NUL, … child -> JSON {release}: the release that this node has handed out to the child */
  exposure: 32,
  /** … placement id -> JSON: the origin's state of a rollout (see rollout/state.ts) */
  rollout: 33,
  /** h key hash of an object, … placement id -> nothing: an index of heldBack by object */
  heldBy: 34,
  /** … placement id -> h: XOR of the content hashes of all rows of a staged placement (see relay/promoted/digest.ts) */
  releaseDigest: 35,
  /** … placement id, NUL, … child -> JSON MoveRow: an agent of this node that is part of a move (see core/move/move.ts) */
  move: 40,
  /** … placement id -> JSON {base, overdue, generation}: this node's counters of the placement's moves (see relay/moves/move-store.ts) */
  moveCounter: 41,
  /** … source name, NUL, … object key -> JSON names of the placements that carry a ReadWriteOnce volume through this object */
  carriesOnce: 42,
  /** … path of an agent, NUL, … entry key of an `i/` row -> nothing: the inventory row concerns this agent; the row is of an own space or from the parent */
  inventoryAt: 50,
  /** -> JSON Attachment: the parent to which this node attached most recently (see core/session/attach.ts) */
  attachment: 75,
  /** … name of a replica group below this node -> JSON: this node's decisions, as the parent, about the group (see relay/replicas/ownership.ts) */
  replicaGroup: 76,
  /** … name of a replica group below this node, NUL, … child of the group -> JSON Held: the replica that owns the child */
  replicaChild: 77,
  /** -> JSON {own, complete}: how far this node has received each source from its parent (see core/session/watermark.ts) */
  watermarks: 78,
  /** … placement id, NUL, … `namespace/name` of a Customizer -> nothing: the node keeps the promoted form of this Customizer */
  heldCustomizer: 61,
  /** … agent, NUL, h keyHash -> key of the keep entry that tells the agent to leave the object as it is (see relay/mailbox/keep-entries.ts) */
  keepEntry: 62,
  /** -> text: the transport that reached the parent most recently (see core/wire/network/transport-memory.ts) */
  transport: 80,
  /** 4 tableId -> JSON: summary of the rows that the table's consumer holds; 4 tableId, h keyHash -> nothing: a held row (see feed/deletions.ts) */
  heldRow: 90,
  /** … space name -> JSON [[had, from]]: the revision gaps of the space (see apiserver/storage/history.ts) */
  spaceHistory: 91,
  /** … source -> JSON: a child has reported revisions of the source that the source's space does not have (see relay/guard/space-incarnations.ts) */
  rolledBack: 92,
  /** … source -> # the newest revision of its space that this node has received (see core/entries/source-incarnations.ts) */
  seenRevision: 93,
  /** 4 tableId, h keyHash -> JSON: the mistake in a row, and its last valid form (see feed/quarantine.ts) */
  quarantined: 100,
  /** … key of a piece of work -> JSON Mark: the work has begun, or the process ended during the work (see crash/crash-marks.ts) */
  crashMark: 101,
  /** -> text: the uid of the agent's cluster (see edge-agent/cluster/kubernetes/cluster-identity.ts) */
  clusterIdentity: 102,
  /**
   * … child -> JSON: earlier label summary of a relay that lost its store; also counts, with the present one (see
   * relay/children/label-summary-shrink-guard.ts)
   */
  heldLabelSummary: 103,
  /** -> JSON LeaseMemory: the name of this store if several stores belong to one agent, and whether it was active (see edge-agent/lease/lease-memory.ts) */
  leaseMemory: 104,
  /** -> JSON {hash, labels}: this node's newest label summary that its parent has acknowledged (see relay/catch-up/label-summary-acknowledgement.ts) */
  acknowledgedLabelSummary: 105,
  /** … placement id -> # the number of the last release before the placement lost its waves (see rollout/state.ts) */
  lastRelease: 106,
  /** … agent -> nothing: the agent may have entries of this node's feed that are not in this store (see relay/rollout/other-histories.ts) */
  otherHistory: 107,
  /** -> nothing: this store was restored or lost, and not all children have reported since then (see relay/moves/restore-barrier.ts) */
  restoreBarrier: 108,
  /** 4 tableId, h contentHash, 4 number, from 0 -> # offset, bytes of a content that arrives in pieces (see feed/pieces.ts) */
  pieceRow: 109,
  /** … path of a relay below a child -> nothing: at least one child reports this relay (see relay/inventory-status/descendants.ts) */
  descendant: 110,
  /** … source name, NUL, … object key -> JSON FormerRow: uids of deleted objects of this name (see relay/spaces/former-objects.ts) */
  formerObject: 111,
  /** … source name, NUL, # revision of the deletion, … object key -> nothing: an index of formerObject, of names that no object has now */
  formerGone: 112,
  /** … source name -> u32: number of rows of formerGone */
  formerCount: 113,
  /** … object key -> JSON: the last observation of an object that has ended by itself (see edge-agent/apply/owner-records.ts) */
  endedObject: 120,
  /** … object key -> JSON of the object as the agent found it before the agent took it over (see edge-agent/apply/owner-records.ts) */
  formerForm: 121,
  /** … placement id, NUL, # number -> JSON Revision: a promoted revision of a placement of an own space (see relay/history/revisions.ts) */
  revision: 114,
  /** … placement id, NUL, # number, … object key -> JSON RevisionChange: the form of the object before the revision */
  revisionChange: 115,
  /** … child, or nothing for this node itself -> JSON {atMs, attached}: when the child was last heard (see core/session/last-heard.ts) */
  heard: 122,
  /** … path of a child -> JSON AdmittedKey: the key that the child may use, and its former keys (see core/session/admitted-keys.ts) */
  admittedKey: 123,
  /** -> PEM of the private key with which this node signs the tokens of its ServiceAccounts (see core/authentication/token-key.ts) */
  tokenKey: 124,
  /** … URL of an issuer -> JSON: the last good set of its public keys (see core/authentication/kept-keys.ts) */
  issuerKeys: 125,
  /** -> JSON SealingRecord: with which keys values of this store are sealed (see encryption/sealing-record.ts) */
  sealing: 126,
  /** 4 tableId -> JSON RowUsage: the bytes of a consumer's rows, and the rows that its quota refused (see core/feed/row-quota.ts) */
  rowUsage: 130,
  /** -> text: the path of this node at its last start (see core/session/former-path.ts) */
  ownPath: 131,
} as const;

export type Keyspace = keyof typeof keyspace;

/** The prefixes as bytes, made once, because every key of every read and write begins with a prefix. Callers must not change these bytes. */
const prefixes = new Map<string, Uint8Array>(Object.entries(keyspace).map(([space, number]) => [space, u16(number)]));

export function prefixOf(space: Keyspace): Uint8Array {
  return prefixes.get(space)!;
}
