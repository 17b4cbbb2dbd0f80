/** Carries out the work of people. */
import type { Space } from '../../../core/apiserver/space.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { seedInventory } from '../../../relay/children/seed-inventory.ts';
import { firstProperties, type Host } from '../host.ts';
import { list, titleOf } from '../model/expected.ts';
import { nodeName, tokensShown } from '../model/held.ts';
import type { Action, Labels, Work } from '../plan/action.ts';
import { nodeOfSource } from '../plan/tree.ts';
import type { World } from '../world.ts';
import { Insisting } from './insisting.ts';
import {
  answer,
  apply,
  bare,
  edgeVersion,
  inventoryVersion,
  meshVersion,
  objectOf,
  placementOf,
  put,
  remove,
} from './objects.ts';

const works: Readonly<Record<Work['do'], true>> = {
  put: true,
  delete: true,
  place: true,
  unplace: true,
  apply: true,
  remove: true,
  answer: true,
  describe: true,
  relabel: true,
  label: true,
  bear: true,
  bury: true,
  release: true,
  leave: true,
  join: true,
  talk: true,
  watch: true,
  unlist: true,
  list: true,
  move: true,
};

export function isWork(action: Action): action is Work {
  return action.do in works;
}

export class People {
  readonly #world: World;
  readonly #unclone: (path: string) => void;
  readonly #insisting: Insisting;

  constructor(world: World, unclone: (path: string) => void) {
    this.#world = world;
    this.#unclone = unclone;
    this.#insisting = new Insisting(world.clock, (host, error) => this.#refused(host, error));
    // A replica that did not run, or that was restored, lacks objects that the other replicas have.
    world.onStarted = (host) => this.#strike(host);
  }

  isPossible(action: Work): boolean {
    return action.do !== 'list' || !this.#isListed(this.#host(action.node));
  }

  perform(action: Work): void {
    switch (action.do) {
      case 'put':
        return this.#write(action.source, (space) => {
          const object = objectOf(action.object);
          put(space, object);
          this.#since(object, false);
        });
      case 'delete':
        return this.#write(action.source, (space) => {
          const object = objectOf({ ...action.object, value: '', labels: {} });
          if (remove(space, object)) this.#since(object, true);
        });
      case 'place':
        return this.#write(action.source, (space) => put(space, placementOf(action.placement)));
      case 'unplace':
        return this.#write(action.source, (space) => {
          remove(space, bare(edgeVersion, 'EdgePlacement', action.name));
        });
      case 'apply':
        return this.#write(action.source, (space) => {
          for (const object of action.objects) apply(space, object);
        });
      case 'remove':
        return this.#write(action.source, (space) => {
          remove(space, action.object);
        });
      case 'answer':
        return this.#write(action.source, (space) => answer(space, action.gate, action.phase));
      case 'describe':
        return this.#describe(this.#host(action.node), action);
      case 'relabel':
        return this.#relabel(this.#host(action.node), action.labels);
      case 'label':
        return this.#label(this.#host(action.node), action.labels);
      case 'bear':
        return this.#atCluster(this.#host(action.node), (cluster) => apply(cluster, action.object));
      case 'bury':
        return this.#atCluster(this.#host(action.node), (cluster) => {
          remove(cluster, action.object);
        });
      case 'release':
        return this.#release(this.#host(action.node), this.#host(action.at));
      case 'leave':
        return this.#leave(this.#host(action.node));
      case 'join':
        return this.#join(this.#host(action.node));
      case 'talk':
        return this.#world.talks.ask(this.#host(action.node), action.to, action.talk);
      case 'watch':
        return this.#watch(this.#host(action.node), action.child);
      case 'unlist':
        return this.#unlist(this.#host(action.node));
      case 'list':
        return this.#list(this.#host(action.node));
      case 'move':
        return this.#move(this.#host(action.node), this.#world.hosts.get(action.to));
      default:
        return action satisfies never;
    }
  }

  #host(path: string): Host {
    return this.#world.hosts.get(path)!;
  }

  #since(object: KubeObject, isDeleted: boolean): void {
    const { originWasPutBack, deletedSinceLoss } = this.#world;
    if (originWasPutBack && isDeleted) deletedSinceLoss.add(titleOf(object));
    else deletedSinceLoss.delete(titleOf(object));
  }

  #write(source: string, act: (space: Space) => void): void {
    const name = source.slice(source.lastIndexOf('.') + 1);
    const host = this.#world.hosts.get(nodeOfSource(source));
    const space = host?.spaces.get(name);
    if (host && space) this.#asked(host, () => act(space));
  }

  #atCluster(agent: Host, act: (cluster: Space) => void): void {
    const cluster = agent.role === 'agent' ? agent.spaces.get('') : undefined;
    if (cluster) this.#asked(agent, () => act(cluster));
  }

  #watch(host: Host, child: string): void {
    this.#asked(host, () => {
      const mailbox = host.resolve(`/mailboxes/${child}`);
      if (mailbox) this.#world.watches.begin(host, child, mailbox);
    });
  }

  /** Sends a request of a person. The request may be refused; a refusal is a valid answer. */
  #asked(host: Host, act: () => void): void {
    host.simProcess.run(act, (error) => this.#refused(host, error));
  }

  #refused(host: Host, error: unknown): void {
    if (!(error instanceof BanyanError)) host.failed(error);
    else this.#world.note(`refused: ${error.message}`);
  }

  #relabel(host: Host, labels: Labels): void {
    this.#changeInventory(host, (entries) =>
      entries.map((entry) => (entry.name === host.name ? { ...entry, labels: { ...labels } } : entry)),
    );
  }

  #label(host: Host, labels: Labels): void {
    for (const parent of this.#world.parentsOf(host)) {
      this.#insisting.ask(parent, `Location ${host.name}`, (system) => {
        const location = system.get(system.keyOf(bare(inventoryVersion, 'Location', host.name)));
        if (!location) return;
        const metadata = { ...location.metadata, labels: { ...labels } };
        system.update({ ...location, metadata });
      });
    }
  }

  /** Approves held rows like `banyan approve-deletions`, with one of the shown tokens. */
  #release(host: Host, at: Host): void {
    const system = at.spaces.get('');
    const [token] = tokensShown(at, host);
    if (!system || token === undefined) return;
    const node = bare(meshVersion, 'Node', nodeName(host));
    this.#asked(at, () => {
      system.apply({ ...node, spec: { approveHeldDeletions: token } } as KubeObject, {
        fieldManager: 'people',
        force: true,
      });
    });
  }

  #describe(
    host: Host,
    { properties, annotations }: { readonly properties: Labels; readonly annotations: Labels },
  ): void {
    const description = { properties: { ...properties }, annotations: { ...annotations } };
    this.#changeInventory(host, (entries) =>
      entries.map((entry) => (entry.name === host.name ? { ...entry, ...description } : entry)),
    );
  }

  #leave(host: Host): void {
    if (host.role !== 'agent') return;
    host.wanted = false;
    host.crash(1);
    host.isGone = true;
    this.#unclone(host.id);
    this.#unlist(host);
  }

  /** Lets the agent join again, with the disk that it had when it left. */
  #join(host: Host): void {
    if (!host.isGone) return;
    host.isGone = false;
    this.#list(host);
    host.start();
  }

  #unlist(host: Host): void {
    if (host.role !== 'agent') return;
    this.#changeInventory(host, (entries) => entries.filter(({ name }) => name !== host.name));
    for (const parent of this.#world.parentsOf(host)) this.#strike(parent);
  }

  #isListed(host: Host): boolean {
    if (host.role !== 'agent') return true;
    return this.#world.parentsOf(host).some(({ config }) => config.inventory.some(({ name }) => name === host.name));
  }

  #list(host: Host): void {
    const entry = { name: host.name, labels: { ...host.planned.labels }, annotations: {}, properties: firstProperties };
    this.#changeInventory(host, (entries) => [...entries, entry]);
  }

  #move(host: Host, to: Host | undefined): void {
    if (!to?.isGone) return;
    this.#leave(host);
    to.disk.replace(host.disk);
    for (const table of host.deceived) to.deceived.add(table);
    for (const row of host.outlived) to.outlived.add(row);
    this.#world.replaced(to);
    this.#join(to);
  }

  /**
   * Changes the inventory as a changed topology would do: in the configuration of the parent and its replicas, and in the inventory of the replicas that run.
   */
  #changeInventory(host: Host, change: (entries: Host['config']['inventory']) => Host['config']['inventory']): void {
    for (const parent of this.#world.parentsOf(host)) {
      parent.config = { ...parent.config, inventory: change(parent.config.inventory) };
      const entries = parent.config.inventory.filter(({ name }) => name === host.name);
      this.#insisting.ask(parent, `inventory ${host.name}`, (system) => seedInventory(system, entries));
    }
  }

  /** Removes places that the topology no longer names from the inventory of a node, if the node runs. */
  #strike(parent: Host): void {
    this.#insisting.ask(parent, 'whom the topology names', (system) => {
      const named = new Set(parent.config.inventory.map(({ name }) => name));
      for (const { kind, resource } of inventoryKinds) {
        for (const { metadata } of list(system, { group: inventoryGroup, resource })) {
          const { name = '' } = metadata;
          if (!named.has(name)) remove(system, bare(inventoryVersion, kind, name));
        }
      }
    });
  }
}

const inventoryGroup = 'inventory.banyan.io';
const inventoryKinds = [
  { kind: 'Location', resource: 'locations' },
  { kind: 'SyncTarget', resource: 'synctargets' },
] as const;
