/** What the registry (entry-kinds.ts) says of one kind of entry. */
import type * as z from 'zod';
import type { Content } from '../feed/feed.ts';

export type ReporterRole = 'relay' | 'agent';

/** A child, as its parent knows it. */
export interface ReportingChild {
  readonly path: string;
  readonly role: ReporterRole;
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
  readonly to?: ReporterRole;
  /** The entry's revision at its origin is one of its source's space. */
  readonly ofSpace?: true;
  /** What a node of this role demands of the body; absent, or undefined: the node does not parse it. */
  readonly body?: (role: ReporterRole, attributes: object) => z.ZodType | undefined;
}

/** Reported by a child to its parent. */
export interface UpKind extends AnyKind {
  readonly from: 'child';
  /** Who reports such entries; absent: relays and agents. */
  readonly by?: ReporterRole;
  /** What no schema of attributes says. Throws a BanyanError. */
  readonly check?: (entry: CheckedEntry, reporter: ReportingChild) => void;
}

/** `object`: of kinds whose key names one. */
export interface CheckedEntry extends Content {
  readonly object?: import('../object/key.ts').ObjectKey;
}

export type EntryKind = DownKind | UpKind;
