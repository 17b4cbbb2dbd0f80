/** What the registry (entry-kinds.ts) says of one kind of entry. */
import type * as z from 'zod';
import type { Content } from '../feed/feed.ts';
import type { ObjectKey } from '../object/key.ts';

/** What a child of a node can be. */
export type ChildRole = 'relay' | 'agent';

/** A child, as its parent knows it. */
export interface ReportingChild {
  readonly path: string;
  readonly role: ChildRole;
}

interface AnyKind {
  /** Of the key: key-form.ts. */
  readonly form: string;
  /** What a node demands of the attributes; absent: nobody reads them as JSON. */
  readonly attributes?: z.ZodType<object>;
  /** One line for docs/architecture.md: what the entry is, and what its body is. */
  readonly is: string;
  /** The entry may go ahead of one of its own kind whose large content is still on its way in pieces: each stands for itself. */
  readonly overtakes?: true;
}

/** Sent by a parent to its child. */
export interface DownKind extends AnyKind {
  readonly from: 'parent';
  /** Who gets such entries; absent: relays and agents. */
  readonly to?: ChildRole;
  /** The entry's revision at its origin is one of its source's space. */
  readonly ofSpace?: true;
  /** What a node of this role demands of the body; absent, or undefined: the node does not parse it. */
  readonly body?: (role: ChildRole, attributes: object) => z.ZodType | undefined;
}

/** Reported by a child to its parent. */
export interface UpKind extends AnyKind {
  readonly from: 'child';
  /** Who reports such entries; absent: relays and agents. */
  readonly by?: ChildRole;
  /** What no schema of attributes says. Throws a BanyanError. */
  readonly check?: (entry: CheckedEntry, reporter: ReportingChild) => void;
}

/** `object`: of kinds whose key names one. */
export interface CheckedEntry extends Content {
  readonly object?: ObjectKey;
}

export type EntryKind = DownKind | UpKind;
