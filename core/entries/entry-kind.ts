/** The columns of the registry (entry-kinds.ts). */
import type * as z from 'zod';
import type { Content } from '../feed/feed.ts';
import type { ObjectKey } from '../object/key.ts';

/** The two roles of a child. */
export type ChildRole = 'relay' | 'agent';

/** A child, as its parent knows it. */
export interface ReportingChild {
  readonly path: string;
  readonly role: ChildRole;
}

interface AnyKind {
  /** The form of the key (key-form.ts). */
  readonly form: string;
  /** The schema of the attributes. Absent: no node reads them as JSON. */
  readonly attributes?: z.ZodType<object>;
  /** One line for docs/architecture.md: the meaning of the entry and of its body. */
  readonly is: string;
  /** The entry may overtake an entry of its own kind whose large content is still being sent in pieces. */
  readonly overtakes?: true;
}

/** Sent by a parent to its child. */
export interface DownKind extends AnyKind {
  readonly from: 'parent';
  /** The role of the receiver. Absent: both. */
  readonly to?: ChildRole;
  /** The entry's origin revision is a revision of its source's space. */
  readonly ofSpace?: true;
  /** The schema of the body for a receiver of this role. Absent, or returns undefined: the receiver does not parse the body. */
  readonly body?: (role: ChildRole, attributes: object) => z.ZodType | undefined;
}

/** Reported by a child to its parent. */
export interface UpKind extends AnyKind {
  readonly from: 'child';
  /** The role of the reporting child. Absent: both. */
  readonly by?: ChildRole;
  /** Checks that a schema cannot express. Throws a BanyanError. */
  readonly check?: (entry: CheckedEntry, reporter: ReportingChild) => void;
}

/** `object`: present where the key names an object. */
export interface CheckedEntry extends Content {
  readonly object?: ObjectKey;
}

export type EntryKind = DownKind | UpKind;
