/**
 * Carries the approval of a person to the node that holds rows. A person writes the token of the held rows into `spec.approveHeldDeletions` of the node's
 * Node object, at the node itself or at any node above. From there, an `approval/` row goes down the path as long as the node reports that it holds something
 * under this token. So an old approval deletes nothing, and the row goes away when the deletion is done.
 */

import { nodeResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { Space } from '../../core/apiserver/space.ts';
import type { ApprovalAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { NodeAttributes } from '../../core/entries/up-attributes.ts';
import type { AppliedChange, Producer, Table } from '../../core/feed/feed.ts';
import { childPath, childTowards, objectName, replicaNodePath } from '../../core/identity/node-path.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

/** The fields of a Node's spec from which an approval is read. */
export interface NodeSpec {
  readonly path?: string;
  /** The token that a person has approved. */
  readonly approveHeldDeletions?: string;
}

export interface HeldDeletionApprovalsPorts {
  readonly path: string;
  readonly system: Space;
  readonly upstream: Table;
  mailboxOf(child: string): Producer | undefined;
  /** Returns all replicas of this child, the child among them. */
  replicasOf(child: string): readonly string[];
  /** Returns the report of a child about itself or about a node below it. */
  reportOf(reader: Reader, child: string, path: string): NodeAttributes | undefined;
  /** Approves the token at this node: deletes the rows that this node holds under the token, and acknowledges the alarm of the token. */
  approve(t: Transaction, token: string): void;
  /** Approves the token for the rows that this node keeps in the mailbox of a child. */
  approveFor(t: Transaction, child: string, token: string): void;
}

export class HeldDeletionApprovals {
  readonly #ports: HeldDeletionApprovalsPorts;

  constructor(ports: HeldDeletionApprovalsPorts) {
    this.#ports = ports;
  }

  /** Call it when the Node object, the row from above or the report of the node at `path` has changed: an approval may then go down or end. */
  consider(t: Transaction, path: string): void {
    const { path: ownPath, mailboxOf, replicasOf, approve, approveFor } = this.#ports;
    const tokens = [this.#approvedHere(path), this.#approvedAbove(t, path)].filter((token) => token !== undefined);
    if (path === ownPath) {
      for (const token of tokens) approve(t, token);
      return;
    }
    const child = childTowards(ownPath, path);
    if (child === undefined) return;
    // Each replica of a child has a Node object of its own. Its approval goes down with the path that all replicas share.
    const isChild = replicaNodePath(ownPath, child) === path;
    const approvalPath = isChild ? childPath(ownPath, child) : path;
    if (isChild && mailboxOf(child)) for (const token of tokens) approveFor(t, child, token);
    for (const holder of isChild ? [child] : replicasOf(child)) this.#handOn(t, holder, approvalPath, tokens);
  }

  /**
   * Keeps the approval row in the holder's mailbox as long as the holder reports that the node (the holder or a node below it) holds rows or has an alarm under
   * one of the tokens.
   */
  #handOn(t: Transaction, holder: string, path: string, tokens: readonly string[]): void {
    const { mailboxOf, reportOf } = this.#ports;
    const mailbox = mailboxOf(holder);
    if (!mailbox) return;
    const key = entryKey.approval(path);
    const node = tokens.length > 0 ? reportOf(t, holder, path) : undefined;
    const openTokens = [node?.held?.token, ...(node?.rolledBack ?? []).map(({ token }) => token)];
    const token = tokens.find((one) => openTokens.includes(one));
    const attributes: ApprovalAttributes | undefined = token === undefined ? undefined : { token };
    if (attributes) mailbox.put(t, { key, attributes: text(stableStringify(attributes)), body: new Uint8Array(0) }, 0);
    else mailbox.remove(t, hash128(key), 0);
  }

  /** Handles rows that the parent has sent. */
  fromAbove(t: Transaction, changes: readonly AppliedChange[]): void {
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'approval') this.consider(t, entry.path);
    }
  }

  /** Handles reports of a child. */
  fromBelow(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const { path: ownPath } = this.#ports;
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type !== 'node') continue;
      this.consider(t, entry.path === childPath(ownPath, child) ? replicaNodePath(ownPath, child) : entry.path);
    }
  }

  #approvedHere(path: string): string | undefined {
    const spec = this.#ports.system.get({ ...nodeResource, namespace: '', name: objectName(path) })?.spec;
    return (spec as NodeSpec | undefined)?.approveHeldDeletions;
  }

  #approvedAbove(reader: Reader, path: string): string | undefined {
    const { upstream } = this.#ports;
    const row = upstream.get(reader, hash128(entryKey.approval(path)));
    return row?.content && attributesOf<ApprovalAttributes>(upstream.content(reader, row.content)).token;
  }
}
