/** The read-only spaces of a node, made when somebody asks for them: mailboxes, what came up from a cluster, what comes from the sources above. */
import { builtinKinds } from '../../core/apiserver/builtin/builtin-kinds.ts';
import { ownKinds } from '../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../core/apiserver/managed-fields/field-manager.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { type ViewSource, ViewStorage } from '../../core/apiserver/storage/view.ts';
import { EmbeddedSpace } from '../../core/apiserver/verbs/embedded-space.ts';
import type { AppliedChange, Table } from '../../core/feed/feed.ts';
import { formatKey, type ObjectKey, parseKey } from '../../core/object/key.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import { type PlacementId, parseEntryKey, placementId } from '../../core/wire/entries.ts';
import { MailboxContents } from '../mailbox/mailbox-view.ts';
import type { Mailboxes } from '../mailbox/mailboxes.ts';
import { ReportedContents } from '../mailbox/reported-view.ts';
import { ReportedKinds, ViewKinds } from '../mailbox/view-kinds.ts';
import { childOf } from '../tree/descendants.ts';
import { childPath } from '../tree/node-objects.ts';
import { placementResource } from './selection.ts';
import { type MadeObjects, UpstreamContents } from './upstream-contents.ts';

export interface ViewsPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly mailboxes: Mailboxes;
  readonly upstream: Table;
  statusOf(reader: Reader, id: PlacementId): Uint8Array | undefined;
  /** JSON of the status of an object from above, while it is exact for this subtree. */
  exactStatusOf(reader: Reader, source: string, key: ObjectKey): Uint8Array | undefined;
  isOwn(source: string): boolean;
  readonly summaries: MadeObjects;
  readonly slices: MadeObjects;
  /** Of this node. */
  readonly path: string;
}

/** A view that somebody looks at: what it showed, by key, so that watches see what changes. */
interface OpenView {
  readonly space: Space;
  readonly storage: ViewStorage;
  readonly source: ViewSource;
  readonly shown: Map<string, Uint8Array>;
}

export class Views {
  readonly #ports: ViewsPorts;
  readonly #mailboxes = new Map<string, OpenView & { readonly contents: MailboxContents }>();
  /** By the path of a cluster. */
  readonly #reported = new Map<string, OpenView & { readonly contents: ReportedContents }>();
  readonly #upstream = new Map<string, OpenView & { readonly contents: UpstreamContents }>();

  constructor(ports: ViewsPorts) {
    this.#ports = ports;
  }

  /** The space behind `/mailboxes/CHILD`, `/reported/PATH` or `/spaces/SOURCE`; undefined: there is no such thing. */
  resolve(prefix: string): Space | undefined {
    const [, kind, name] = prefix.split('/');
    if (kind === 'mailboxes' && name) return this.#mailbox(name)?.space;
    if (kind === 'reported' && name) return this.#reportedOf(name)?.space;
    // Sources have a dot in their names, own spaces never: their names are DNS labels.
    if (kind === 'spaces' && name?.includes('.')) return this.#source(name).space;
    return undefined;
  }

  upstreamChanged(changes: readonly AppliedChange[]): void {
    for (const view of this.#upstream.values()) {
      for (const { key } of changes) {
        const object = view.contents.keyOf(key);
        if (object) tell(view, object);
      }
    }
  }

  placementChanged({ source, name }: { source: string; name: string }): void {
    const view = this.#upstream.get(source);
    if (view) tell(view, { ...placementResource, namespace: '', name });
  }

  /** An object of a source above that this node makes itself. */
  changed(source: string, key: ObjectKey): void {
    const view = this.#upstream.get(source);
    if (view) tell(view, key);
  }

  /** The mailboxes of these children have other rows now. */
  mailboxesChanged(children: Iterable<string>): void {
    for (const child of children) {
      const view = this.#mailboxes.get(child);
      if (view) compare(view);
    }
  }

  reportedChanged(child: string, changes: readonly AppliedChange[]): void {
    const mailbox = this.#mailboxes.get(child);
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'upsynced') {
        const view = this.#reported.get(entry.path);
        view?.contents.note(entry.source);
        if (view) tell(view, entry.object);
      }
      if (!mailbox) continue;
      if (entry?.type !== 'state' && entry?.type !== 'associated' && entry?.type !== 'upsynced') continue;
      mailbox.contents.note(entry.source);
      tell(mailbox, entry.object);
    }
  }

  /** The objects of a source have other exact statuses now, or none any more. */
  exactChanged(source: string, objects: readonly ObjectKey[]): void {
    const view = this.#upstream.get(source);
    if (view) for (const object of objects) tell(view, object);
  }

  #mailbox(child: string): OpenView | undefined {
    const { store, mailboxes, path } = this.#ports;
    if (!mailboxes.get(child)) return undefined;
    const known = this.#mailboxes.get(child);
    if (known) return known;
    const kinds = new ReportedKinds();
    const contents = new MailboxContents(store, () => mailboxes.get(child), childPath(path, child), kinds);
    const view = { ...this.#open(`mailbox of ${child}`, contents, kinds), contents };
    this.#mailboxes.set(child, view);
    return view;
  }

  #reportedOf(path: string): OpenView | undefined {
    const known = this.#reported.get(path);
    if (known) return known;
    const { store, mailboxes, path: own } = this.#ports;
    const child = childOf(own, path);
    if (child === undefined || !mailboxes.get(child)) return undefined;
    const kinds = new ReportedKinds();
    const contents = new ReportedContents(store, path, () => mailboxes.get(child)?.reported, kinds);
    const view = { ...this.#open(`reported of ${path}`, contents, kinds), contents };
    this.#reported.set(path, view);
    return view;
  }

  #source(source: string): OpenView {
    const known = this.#upstream.get(source);
    if (known) return known;
    const { store, upstream, statusOf, exactStatusOf, summaries, slices } = this.#ports;
    const statuses = {
      placement: (reader: Reader, name: string) => statusOf(reader, placementId(source, name)),
      object: (reader: Reader, key: ObjectKey) => exactStatusOf(reader, source, key),
    };
    const contents = new UpstreamContents(store, upstream, source, statuses, { summaries, slices });
    const view = { ...this.#open(source, contents), contents };
    this.#upstream.set(source, view);
    return view;
  }

  #open(name: string, source: ViewSource, reported = new ReportedKinds()): OpenView {
    const { clock, random, log } = this.#ports;
    const storage = new ViewStorage(source, clock, log);
    const kinds = new ViewKinds(new SpaceKinds(storage, [...builtinKinds(), ...ownKinds('Workload')]), reported);
    const space = new EmbeddedSpace({
      name,
      storage,
      kinds,
      clock,
      random,
      fields: fieldManager,
      admissions: [],
    });
    const shown = new Map([...source.list()].map(({ key, body }) => [formatKey(key), body]));
    return { space, storage, source, shown };
  }
}

function tell(view: OpenView, key: ObjectKey): void {
  const id = formatKey(key);
  const before = view.shown.get(id);
  const after = view.source.get(key);
  if (after) view.shown.set(id, after);
  else view.shown.delete(id);
  view.storage.changed(key, before, after);
}

/** All that differs from what was shown. */
function compare(view: OpenView): void {
  const now = new Map([...view.source.list()].map(({ key, body }) => [formatKey(key), body]));
  const ids = new Set([...view.shown.keys(), ...now.keys()]);
  for (const id of ids) {
    const before = view.shown.get(id);
    const after = now.get(id);
    if (before && after && Buffer.compare(before, after) === 0) continue;
    view.storage.changed(parseKey(id), before, after);
  }
  view.shown.clear();
  for (const [id, body] of now) view.shown.set(id, body);
}
