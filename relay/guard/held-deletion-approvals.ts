/**
 * The word of a person that what a node holds may go, on its way there. It is said in `spec.approveHeldDeletions` of the node's Node object, at the node itself or at any
 * node above, and names the token of what was seen. From there a `approval/` row goes down the path, as long as the node tells that it holds something under
 * this token: so an old word deletes nothing, and the row goes when it is done.
 */

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
import { nodeResource } from '../inventory-status/node-objects.ts';

/** The fields of a Node's spec that an approval is read from. */
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
  /** All children by the name of this one, itself among them. */
  replicasOf(child: string): readonly string[];
  /** What a child tells of a node at or below itself. */
  told(reader: Reader, child: string, path: string): NodeAttributes | undefined;
  /** This node's own: deletes what it holds under the token, and takes its alarm of the token as known. */
  release(t: Transaction, token: string): void;
  /** What this node keeps in the mailbox of a child under the token. */
  releaseFor(t: Transaction, child: string, token: string): void;
}

export class HeldDeletionApprovals {
  readonly #ports: HeldDeletionApprovalsPorts;

  constructor(ports: HeldDeletionApprovalsPorts) {
    this.#ports = ports;
  }

  /** Something has changed that may let a word go on, or end its way: the Node object, the row from above, or what the node tells. */
  consider(t: Transaction, path: string): void {
    const { path: own, mailboxOf, replicasOf, release, releaseFor } = this.#ports;
    const tokens = [this.#asked(path), this.#fromAbove(t, path)].filter((token) => token !== undefined);
    if (path === own) {
      for (const token of tokens) release(t, token);
      return;
    }
    const child = childTowards(own, path);
    if (child === undefined) return;
    // Each of several siblings has a Node object of its own, and says the path that they share.
    const isChild = replicaNodePath(own, child) === path;
    const asked = isChild ? childPath(own, child) : path;
    if (isChild && mailboxOf(child)) for (const token of tokens) releaseFor(t, child, token);
    for (const holder of isChild ? [child] : replicasOf(child)) this.#handOn(t, holder, asked, tokens);
  }

  /** As long as the holder tells that the node, which is at or below it, has something under one of the tokens. */
  #handOn(t: Transaction, holder: string, path: string, tokens: readonly string[]): void {
    const { mailboxOf, told } = this.#ports;
    const mailbox = mailboxOf(holder);
    if (!mailbox) return;
    const key = entryKey.approval(path);
    const node = tokens.length > 0 ? told(t, holder, path) : undefined;
    const open = [node?.held?.token, ...(node?.rolledBack ?? []).map(({ token }) => token)];
    const token = tokens.find((one) => open.includes(one));
    const attributes: ApprovalAttributes | undefined = token === undefined ? undefined : { token };
    if (attributes) mailbox.put(t, { key, attributes: text(stableStringify(attributes)), body: new Uint8Array(0) }, 0);
    else mailbox.remove(t, hash128(key), 0);
  }

  /** Of what the parent has sent. */
  fromAbove(t: Transaction, changes: readonly AppliedChange[]): void {
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'approval') this.consider(t, entry.path);
    }
  }

  /** Of what a child has told. */
  fromBelow(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const { path: own } = this.#ports;
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type !== 'node') continue;
      this.consider(t, entry.path === childPath(own, child) ? replicaNodePath(own, child) : entry.path);
    }
  }

  #asked(path: string): string | undefined {
    const spec = this.#ports.system.get({ ...nodeResource, namespace: '', name: objectName(path) })?.spec;
    return (spec as NodeSpec | undefined)?.approveHeldDeletions;
  }

  #fromAbove(reader: Reader, path: string): string | undefined {
    const { upstream } = this.#ports;
    const row = upstream.get(reader, hash128(entryKey.approval(path)));
    return row?.content && attributesOf<ApprovalAttributes>(upstream.content(reader, row.content)).token;
  }
}
