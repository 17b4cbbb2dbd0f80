/** The read-only spaces of a node, made when a client asks for them: mailboxes, objects that came up from a cluster, and the rows of the sources above. */

import { builtinKinds } from '../../core/apiserver/builtin/builtin-kinds.ts';
import { ownKinds } from '../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../core/apiserver/kinds/space-kinds.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { type ViewSource, ViewStorage } from '../../core/apiserver/storage/view.ts';
import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, placementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange, Table } from '../../core/feed/feed.ts';
import { childPath, childTowards } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import type { Mailboxes } from '../mailbox/mailboxes.ts';
import type { Replicas } from '../replicas/replicas.ts';
import { EmptyViews } from './empty-views.ts';
import { MailboxContents } from './mailbox-view.ts';
import { OpenView } from './open-view.ts';
import { readOnlySpace } from './read-only-space.ts';
import { ReportedContents } from './reported-view.ts';
import { type MadeObjects, UpstreamContents } from './upstream-contents.ts';
import { ReportedKinds, ViewKinds } from './view-kinds.ts';

export interface ViewsPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly mailboxes: Mailboxes;
  readonly upstream: Table;
  statusOf(reader: Reader, id: PlacementId): Uint8Array | undefined;
  /** Returns the status of an object from above for this subtree, as JSON. */
  objectStatusOf(source: string, key: ObjectKey): Uint8Array | undefined;
  readonly summaries: MadeObjects;
  readonly slices: MadeObjects;
  /** The path of this node. */
  readonly path: string;
  readonly replicas: Pick<Replicas, 'members' | 'standing'>;
}

export class Views {
  readonly #ports: ViewsPorts;
  readonly #mailboxes = new Map<string, OpenView<MailboxContents>>();
  /** Keyed by the path of a cluster. */
  readonly #reported = new Map<string, OpenView<ReportedContents>>();
  readonly #upstream = new Map<string, OpenView<UpstreamContents>>();
  readonly #empty: EmptyViews;

  constructor(ports: ViewsPorts) {
    this.#ports = ports;
    this.#empty = new EmptyViews(ports.clock);
  }

  /**
   * Returns the space behind `/mailboxes/CHILD`, `/reported/PATH` or `/spaces/SOURCE`. Undefined: there is no such space. A space for which nothing has arrived
   * yet exists and is empty, so that clients can watch it. Throws TooManyRequests while too many empty spaces are in use.
   */
  resolve(prefix: string): Space | undefined {
    const [, kind, name] = prefix.split('/');
    if (kind === 'mailboxes' && name) return this.#mailbox(name)?.space;
    if (kind === 'reported' && name) return this.#reportedOf(name)?.space;
    // The name of a source has a dot. The name of an own space is a DNS label, and has none.
    if (kind === 'spaces' && name?.includes('.')) return this.#source(name).space;
    return undefined;
  }

  upstreamChanged(changes: readonly AppliedChange[]): void {
    for (const source of [...this.#upstream.keys()]) {
      const view = this.#inUse(this.#upstream, source);
      if (!view) continue;
      for (const { key } of changes) {
        const object = view.contents.keyOf(key);
        if (object) view.refresh(object);
      }
    }
  }

  /** Call it when the space of a source above was removed. A later space of this name gets another view, so no watch goes on there. */
  sourceRemoved(source: string): void {
    const view = this.#upstream.get(source);
    this.#upstream.delete(source);
    view?.end();
  }

  /** Call it when an object that this node makes for a source above has changed. */
  changed(source: string, key: ObjectKey): void {
    this.#inUse(this.#upstream, source)?.refresh(key);
  }

  /** Call it when rows of the child's mailbox were written. */
  mailboxChanged(child: string): void {
    const view = this.#inUse(this.#mailboxes, child);
    const changed = view?.contents.changed();
    if (changed) for (const key of changed) view?.refresh(key);
    else view?.compare();
  }

  /** Call it when the child was removed, or when this node counts the child from now on, or no longer. */
  reportersChanged(child: string): void {
    const { name } = splitReplica(child);
    for (const path of [...this.#reported.keys()]) {
      const towards = childTowards(this.#ports.path, path);
      if (towards !== undefined && splitReplica(towards).name === name) this.#inUse(this.#reported, path)?.compare();
    }
  }

  reportedChanged(child: string, changes: readonly AppliedChange[]): void {
    const mailbox = this.#inUse(this.#mailboxes, child);
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'upsynced') {
        const view = this.#inUse(this.#reported, entry.path);
        view?.contents.note(entry.source);
        view?.refresh(entry.object);
      }
      if (!mailbox) continue;
      if (entry?.type !== 'state' && entry?.type !== 'associated' && entry?.type !== 'upsynced') continue;
      mailbox.contents.note(entry.source);
      mailbox.refresh(entry.object);
    }
  }

  #mailbox(child: string): OpenView | undefined {
    const { store, mailboxes, path } = this.#ports;
    if (!mailboxes.get(child)) return undefined;
    return this.#view(this.#mailboxes, child, () => {
      const kinds = new ReportedKinds();
      const contents = new MailboxContents(store, () => mailboxes.get(child), childPath(path, child), kinds);
      return this.#open(`mailbox of ${child}`, contents, kinds);
    });
  }

  #reportedOf(path: string): OpenView | undefined {
    const { store, mailboxes, replicas, path: own } = this.#ports;
    const child = childTowards(own, path);
    if (child === undefined || !replicas.members(child).some((one) => mailboxes.get(one))) return undefined;
    return this.#view(this.#reported, path, () => {
      const kinds = new ReportedKinds();
      const contents = new ReportedContents(store, path, () => this.#reportersOf(child), kinds);
      return this.#open(`reported of ${path}`, contents, kinds);
    });
  }

  /** Returns the reports of the child and of its replicas. Each cluster is in the reports of the replica that this node counts for the cluster. */
  *#reportersOf(child: string): Generator<Table> {
    const { mailboxes, replicas } = this.#ports;
    for (const member of replicas.members(child)) {
      const mailbox = mailboxes.get(member);
      if (mailbox && replicas.standing(member).counts) yield mailbox.reported;
    }
  }

  #source(source: string): OpenView {
    const { store, upstream, statusOf, objectStatusOf, summaries, slices } = this.#ports;
    return this.#view(this.#upstream, source, () => {
      const statuses = {
        placement: (reader: Reader, name: string) => statusOf(reader, placementId(source, name)),
        object: (key: ObjectKey) => objectStatusOf(source, key),
      };
      const contents = new UpstreamContents(store, upstream, source, statuses, { summaries, slices });
      return this.#open(source, contents);
    });
  }

  #view<C extends ViewSource>(views: Map<string, OpenView<C>>, name: string, open: () => OpenView<C>): OpenView<C> {
    const view = views.get(name) ?? open();
    this.#empty.asked(view, () => {
      if (views.get(name) === view) views.delete(name);
    });
    views.set(name, view);
    return view;
  }

  /** Returns the open view that a change concerns. Closes an idle view instead. */
  #inUse<C extends ViewSource>(views: Map<string, OpenView<C>>, name: string): OpenView<C> | undefined {
    const view = views.get(name);
    if (!view?.isIdle(this.#ports.clock.monotonicMs())) return view;
    views.delete(name);
    return undefined;
  }

  #open<C extends ViewSource>(name: string, contents: C, reported = new ReportedKinds()): OpenView<C> {
    const { clock, random, log } = this.#ports;
    let view: OpenView<C> | undefined;
    const source: ViewSource = {
      list: () => (view ?? contents).list(),
      get: (key) => (view ?? contents).get(key),
    };
    const storage = new ViewStorage(source, clock, log);
    const kinds = new ViewKinds(new SpaceKinds(storage, [...builtinKinds(), ...ownKinds('Workload')]), reported);
    const space = readOnlySpace({ clock, random }, { name, storage, kinds });
    view = new OpenView(space, storage, contents);
    return view;
  }
}
