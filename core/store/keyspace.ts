/**
 * The registry of key prefixes: every key in a store begins with one of these two-byte numbers. Append-only from the first release on: a number
 * is never used again, retired ones stay listed. `#` means a u48, `h` a 16-byte hash, `4` a u32, `…` text to the end.
 */
import { u16 } from './bytes.ts';

export const keyspace = {
  /** -> JSON {format, createdAt}; see store/format.ts */
  format: 1,
  /** h contentHash -> content record (see feed/content.ts) */
  content: 2,
  /** h contentHash -> u32 number of rows that name it */
  contentReferences: 3,
  /** 4 tableId -> name of the table (see feed/table.ts) */
  tableName: 4,
  /** 4 tableId, h keyHash -> row */
  tableRow: 5,
  /** 4 tableId, # revision -> h keyHash */
  tableRevision: 6,
  /** 4 tableId -> JSON state of the producer at this table */
  producerState: 7,
  /** 4 tableId -> digest and resume tuple of the consumer at this table (see feed/consumer-state.ts) */
  consumerState: 8,
  /** … peer path -> JSON {sessionSequence, bootCounter, …} */
  session: 9,
  /** -> JSON of this node's identity in time: {epoch, boot counter} */
  node: 10,
  /** 4 spaceId, … object key -> object row (see apiserver/storage/embedded.ts) */
  spaceObject: 11,
  /** … space name -> JSON {id, revision, …} */
  spaceState: 12,
  /** … source name, NUL, … placement name, NUL, h keyHash -> nothing: the objects of a placement */
  selection: 13,
  /** … source name, NUL, … placement, NUL, … reason -> u32: how many objects need this namespace or CRD */
  implied: 14,
  /** 4 class, … work key -> JSON: what the scheduler has yet to look at */
  dirty: 15,
  /** … placement id, NUL, … child -> JSON: that the child's mailbox has this placement */
  matched: 16,
  /** … placement id -> nothing: every placement that this node knows, of its own spaces and from above */
  placement: 17,
  /** … child name -> JSON {role}: the children that have a mailbox here */
  child: 18,
  /** … object key -> JSON OwnerRecord: an object that this agent has applied to its cluster */
  ownerRecord: 19,
  /** … agent, NUL, h keyHash -> JSON: an object that is customized for that agent here (see relay/customize/renderings.ts) */
  customized: 20,
  /** … path of an agent, NUL, h keyHash -> nothing: the objects born at its cluster that some child's table has */
  upsynced: 21,
  /** … placement id -> JSON [object key]: objects that have the exact status of its only destination, here or in the outbox */
  exact: 22,
  /** … placement id, NUL, h key hash of an object -> its entry key: objects whose promoted content is kept beside the candidate */
  heldBack: 30,
  /** … placement id, NUL, … entry key of an object -> nothing: rows that no agent gets before more is known of the placement's release */
  withheld: 31,
  /** … placement id, NUL, … child -> JSON {release}: the release that was handed to the child */
  exposure: 32,
  /** … placement id -> JSON: what the origin remembers of a rollout (see rollout/state.ts) */
  rollout: 33,
  /** h key hash of an object, … placement id -> nothing: the other way round of heldBack */
  heldBy: 34,
  /** … placement id -> h: exclusive or of the content hashes of a staged placement's rows (see relay/promoted/digest.ts) */
  releaseDigest: 35,
  /** … placement id, NUL, … child -> JSON MoveRow: an agent here that is part of a move (see core/move/move.ts) */
  move: 40,
  /** … placement id -> JSON {base, overdue, generation}: what a node counts of the moves of a placement (see relay/moves/move-store.ts) */
  moveCounter: 41,
  /** … source name, NUL, … object key -> JSON names of the placements that carry a volume which one node at a time may write with this object */
  carriesOnce: 42,
  /** … path of an agent, NUL, … entry key of an `i/` row -> nothing: inventory of spaces here and above, by whom it concerns */
  inventoryAt: 50,
  /** -> JSON Attachment: to which parent this node attached last, as a child (see core/session/attach.ts) */
  attachment: 75,
  /** … name of siblings below -> JSON: what their parent has decided of them all (see relay/replicas/ownership.ts) */
  replicaGroup: 76,
  /** … name of siblings below, NUL, … child of theirs -> JSON Held: to which of them it belongs */
  replicaChild: 77,
  /** -> JSON {own, told}: how far this node has come with each source, as a child (see core/session/watermark.ts) */
  watermarks: 78,
  /** … placement id, NUL, … `namespace/name` of a Customizer -> nothing: those of which the promoted form is kept */
  heldCustomizer: 61,
  /** … agent, NUL, h keyHash -> key of the entry by which the agent is told to keep what it has of an object (see relay/mailbox/keep-entries.ts) */
  keepEntry: 62,
  /** -> text: the transport that reached the parent last (see wire/transport-memory.ts) */
  transport: 80,
  /** 4 tableId -> JSON: what the consumer at this table holds; 4 tableId, h keyHash -> nothing: its held rows (see feed/deletions.ts) */
  heldRow: 90,
  /** … space name -> JSON [[had, from]]: revisions that the space does not know of (see apiserver/storage/history.ts) */
  spaceHistory: 91,
  /** … source -> JSON: that revisions of the source were told which its space does not know of (see relay/guard/space-incarnations.ts) */
  rolledBack: 92,
  /** … source -> # the newest revision of its space that has come here (see wire/seen.ts) */
  seenRevision: 93,
  /** 4 tableId, h keyHash -> JSON: what is wrong with a row, and its last good form (see feed/quarantine.ts) */
  quarantined: 100,
  /** … key of a piece of work -> JSON Mark: it was begun, or the process ended in the middle of it (see crash/crash-marks.ts) */
  crashMark: 101,
  /** -> text: the uid of the cluster that the agent stands before (see cluster/kubernetes/cluster-identity.ts) */
  clusterIdentity: 102,
  /** … child -> JSON: the label summary of a relay that counts beside the one that it tells since it lost its store (see relay/children/label-summary-shrink-guard.ts) */
  heldLabelSummary: 103,
  /** -> JSON LeaseMemory: what an agent's store knows of itself where several have one identity (see edge-agent/lease/lease-memory.ts) */
  leaseMemory: 104,
  /** -> JSON {hash, labels}: the newest label summary of this node that is worked off above (see relay/catch-up/label-summary-acknowledgement.ts) */
  acknowledgedLabelSummary: 105,
  /** … placement id -> # the number of its last release before it had no waves (see rollout/state.ts) */
  lastRelease: 106,
  /** … agent -> nothing: it may have of this node's feed what this store does not know (see relay/rollout/other-histories.ts) */
  otherHistory: 107,
  /** -> nothing: this store was put back or lost, and not all children have been heard since (see relay/moves/restore-barrier.ts) */
  restoreBarrier: 108,
  /** 4 tableId, h contentHash, 4 number, from 0 -> # offset, bytes of a content that comes in pieces (see feed/pieces.ts) */
  pieceRow: 109,
  /** … path of a relay below a child -> nothing: some child tells of it (see relay/inventory-status/descendants.ts) */
  descendant: 110,
} as const;

export type Keyspace = keyof typeof keyspace;

/** Made once: every key of every read and write begins with one. Nobody writes into them. */
const prefixes = new Map<string, Uint8Array>(Object.entries(keyspace).map(([space, number]) => [space, u16(number)]));

export function prefixOf(space: Keyspace): Uint8Array {
  return prefixes.get(space)!;
}
