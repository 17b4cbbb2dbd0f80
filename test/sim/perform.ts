/** Carries a plan's actions out on a world. What does not fit the moment, such as a write to a space whose node is down, is passed over. */
import type { Space } from '../../core/apiserver/space.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { seedInventory } from '../../relay/schedule/seed-inventory.ts';
import type { Disk } from './disk.ts';
import { Host } from './host.ts';
import { celOf } from './model/match.ts';
import { type Action, type Labels, nodeOfSource, type PlannedObject, type PlannedPlacement } from './plan.ts';
import type { World } from './world.ts';

export class Performer {
  readonly #world: World;
  readonly #backups = new Map<string, Disk>();
  #clonesMade = 0;

  constructor(world: World) {
    this.#world = world;
  }

  perform(action: Action): void {
    if (!this.#isPossible(action)) return;
    this.#world.note(JSON.stringify(action));
    switch (action.do) {
      case 'put':
        return this.#write(action.source, (space) => put(space, objectOf(action.object)));
      case 'delete':
        return this.#write(action.source, (space) =>
          remove(space, objectOf({ ...action.object, value: '', labels: {} })),
        );
      case 'place':
        return this.#write(action.source, (space) => put(space, placementOf(action.placement)));
      case 'unplace':
        return this.#write(action.source, (space) => remove(space, bare(edgeVersion, 'EdgePlacement', action.name)));
      default:
        return this.#onNode(action, this.#world.hosts.get(action.node)!);
    }
  }

  #onNode(action: Exclude<Action, { source: string }>, host: Host): void {
    const { network } = this.#world;
    const line = network.line(host.path);
    switch (action.do) {
      case 'relabel':
        return this.#relabel(host, action.labels);
      case 'leave':
        return this.#leave(host);
      case 'join':
        return this.#join(host);
      case 'crash':
        host.life.crashAtEffect = Math.min(host.life.crashAtEffect, host.life.effects + action.afterEffects);
        return;
      case 'stop':
        host.wanted = false;
        return host.crash(this.#world.chance());
      case 'start':
        return host.start();
      case 'empty':
        return this.#replace(host, undefined);
      case 'backup':
        this.#backups.set(host.path, host.disk.copy());
        return;
      case 'restore':
        return this.#replace(host, this.#backups.get(host.path));
      case 'reset':
        return network.reset(host.path);
      case 'cut':
        line.cut = true;
        return network.reset(host.path);
      case 'mend':
        network.mend(host.path);
        return;
      case 'silence':
        line.silent = { child: action.child, parent: action.parent };
        return;
      case 'slow':
        line.delayMaxMs = action.delayMaxMs;
        line.bufferBytes = action.bufferBytes;
        return;
      case 'double':
        line.doubles = action.share;
        return;
      case 'fill':
        host.disk.isFull = true;
        return;
      case 'tidy':
        host.disk.isFull = false;
        return;
      case 'jump':
        host.skewMs += action.ms;
        host.skewMaxMs = Math.max(host.skewMaxMs, host.skewMs);
        return;
      case 'clone':
        return this.#clone(host);
      case 'unclone':
        return this.unclone(host.path);
    }
  }

  unclone(path: string): void {
    const clone = this.#world.clones.get(path);
    if (!clone) return;
    clone.wanted = false;
    clone.isGone = true;
    clone.crash(1);
    this.#world.clones.delete(path);
  }

  #isPossible(action: Action): boolean {
    if ('source' in action) return true;
    const host = this.#world.hosts.get(action.node);
    if (!host || (host.isGone && action.do !== 'join')) return false;
    return action.do !== 'restore' || this.#backups.has(host.path);
  }

  // ------------------------------------------------------------------------------------------------ what people do

  #write(source: string, act: (space: Space) => void): void {
    const name = source.slice(source.lastIndexOf('.') + 1);
    const host = this.#world.hosts.get(nodeOfSource(source));
    const space = host?.spaces.get(name);
    if (host && space) this.#asked(host, () => act(space));
  }

  /** What a person asks for may be refused; that is an answer. */
  #asked(host: Host, act: () => void): void {
    host.life.run(act, (error) => {
      if (!(error instanceof BanyanError) || error.code === 'StoreFull') host.failed(error);
      else this.#world.note(`refused: ${error.message}`);
    });
  }

  #relabel(host: Host, labels: Labels): void {
    this.#changeInventory(host, (entries) =>
      entries.map((entry) => (entry.name === host.name ? { ...entry, labels: { ...labels } } : entry)),
    );
  }

  #leave(host: Host): void {
    if (host.role !== 'agent') return;
    host.wanted = false;
    host.crash(1);
    host.isGone = true;
    this.unclone(host.path);
    this.#changeInventory(host, (entries) => entries.filter(({ name }) => name !== host.name));
    const parent = this.#world.parentOf(host)!;
    const system = parent.spaces.get('');
    if (!system) return;
    this.#asked(parent, () => {
      for (const kind of ['Location', 'SyncTarget']) remove(system, bare(inventoryVersion, kind, host.name));
    });
  }

  /** With the disk that it left with. */
  #join(host: Host): void {
    if (!host.isGone) return;
    host.isGone = false;
    const entry = { name: host.name, labels: { ...host.planned.labels }, annotations: {}, properties: {} };
    this.#changeInventory(host, (entries) => [...entries, entry]);
    host.start();
  }

  /** As a changed topology does: in the configuration of the parent, and in its inventory now if it runs. */
  #changeInventory(host: Host, change: (entries: Host['config']['inventory']) => Host['config']['inventory']): void {
    const parent = this.#world.parentOf(host);
    if (!parent) return;
    parent.config = { ...parent.config, inventory: change(parent.config.inventory) };
    const system = parent.spaces.get('');
    const entries = parent.config.inventory.filter(({ name }) => name === host.name);
    if (system) this.#asked(parent, () => seedInventory(system, entries));
  }

  // --------------------------------------------------------------------------------------------- what goes wrong

  #replace(host: Host, by: Disk | undefined): void {
    host.crash(1);
    host.disk.replace(by);
    // A machine that is set up again gets the time of day; one whose clock goes behind what its parent has seen of it stays refused until then.
    if (!by) host.skewMs = host.skewMaxMs;
    this.#world.replaced(host);
  }

  #clone(host: Host): void {
    if (this.#world.clones.has(host.path)) return;
    const clone = new Host(this.#world, host.planned, host.disk.copy(), true);
    this.#world.clones.set(host.path, clone);
    clone.config = host.config;
    clone.cloneNumber = this.#clonesMade++;
    clone.start();
  }
}

// ------------------------------------------------------------------------------------------------------- objects

const edgeVersion = 'edge.banyan.io/v1alpha1';
const inventoryVersion = 'inventory.banyan.io/v1alpha1';

function put(space: Space, object: KubeObject): void {
  const { namespace } = object.metadata;
  if (namespace !== undefined) {
    const container = bare('v1', 'Namespace', namespace);
    if (!space.get(space.keyOf(container))) space.create(container);
  }
  const before = space.get(space.keyOf(object));
  if (!before) space.create(object);
  else space.update({ ...object, metadata: { ...before.metadata, labels: object.metadata.labels ?? {} } });
}

function remove(space: Space, object: KubeObject): void {
  const key = space.keyOf(object);
  if (space.get(key)) space.delete(key);
}

function bare(apiVersion: string, kind: string, name: string): KubeObject {
  return { apiVersion, kind, metadata: { name } };
}

function objectOf({ kind, namespace, name, value, labels }: PlannedObject): KubeObject {
  const metadata = { name, namespace, labels: { ...labels } };
  if (kind === 'ConfigMap') return { apiVersion: 'v1', kind, metadata, data: { value } };
  const app = { app: name };
  const template = {
    metadata: { labels: app },
    spec: { containers: [{ name: 'main', image: `example.com/${value}` }] },
  };
  return { apiVersion: 'apps/v1', kind, metadata, spec: { replicas: 1, selector: { matchLabels: app }, template } };
}

function placementOf({ name, selectors, expression, namespaces, resources, only }: PlannedPlacement): KubeObject {
  const item = {
    apiGroup: '*',
    resources: [...resources],
    namespaces: [...namespaces],
    ...(only ? { labelSelectors: [{ matchLabels: { ...only } }] } : {}),
  };
  const spec = {
    locationSelectors: structuredClone(selectors),
    ...(expression ? { locationExpression: celOf(expression) } : {}),
    downsync: [item],
  };
  return { apiVersion: edgeVersion, kind: 'EdgePlacement', metadata: { name }, spec } as KubeObject;
}
