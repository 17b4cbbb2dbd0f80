/**
 * The hosts of the relays directly below this node, as their Node objects name them. This node can sign certificates for them only if its own parent has admitted
 * the same hosts for this node. All Node objects are read once, at the start; after that, only changed ones are read.
 */
import { nodeResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { Space } from '../../core/apiserver/space.ts';
import type { StorageEvent, StoredObject } from '../../core/apiserver/storage.ts';
import { parentOf } from '../../core/identity/node-path.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { GroupResource } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';

export interface HostsBelowPorts {
  readonly path: string;
  /** The system space. */
  readonly space: Space;
  /** Called with all hosts, sorted, at the start and after each change. */
  changed(hosts: readonly string[]): void;
}

export class HostsBelow {
  readonly #ports: HostsBelowPorts;
  /** Keyed by the name of the Node object. Nodes without hosts are not here. */
  readonly #hosts = new Map<string, readonly string[]>();
  #present: readonly string[] = [];
  #unsubscribe: () => void = () => {};

  constructor(ports: HostsBelowPorts) {
    this.#ports = ports;
  }

  start(): void {
    const { storage } = this.#ports.space;
    this.#unsubscribe = storage.subscribe((events) => this.#note(events));
    for (const stored of storage.scan(nodeResource)) this.#set(stored);
    this.#publish();
  }

  stop(): void {
    this.#unsubscribe();
  }

  #note(events: readonly StorageEvent[]): void {
    const ofNodes = events.filter(({ object }) => isNode(object.key));
    if (ofNodes.length === 0) return;
    for (const { type, object } of ofNodes) {
      if (type === 'DELETED') this.#hosts.delete(object.key.name);
      else this.#set(object);
    }
    this.#publish();
  }

  #set({ key, body }: StoredObject): void {
    const { spec } = parseBody(body) as KubeObject;
    const { path = '', hosts = [] } = (spec ?? {}) as { readonly path?: string; readonly hosts?: readonly string[] };
    const isChild = path !== '' && parentOf(path) === this.#ports.path;
    if (isChild && hosts.length > 0) this.#hosts.set(key.name, hosts);
    else this.#hosts.delete(key.name);
  }

  #publish(): void {
    const hosts = [...new Set([...this.#hosts.values()].flat())].sort();
    if (equalJson(hosts, this.#present)) return;
    this.#present = hosts;
    this.#ports.changed(hosts);
  }
}

function isNode({ group, resource }: GroupResource): boolean {
  return group === nodeResource.group && resource === nodeResource.resource;
}
